import ArgumentParser
import Penstock

/// `penstock dead list`
struct DeadListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List dead letters with what went wrong last.",
        discussion: """
            EXAMPLES
              penstock dead list
              penstock dead list mail --json | jq '.attempts[-1].error'
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "Only this queue's.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @Option(help: .init("From this message on.", valueName: "sequence"), transform: Values.sequence)
    var from: SequenceNumber?

    @Option(help: .init("How many at most.", valueName: "count"))
    var limit = 100

    func validate() throws {
        try Bounds.check(limit, 1...Limits.rowsMax, "--limit")
    }

    @MainActor func run() async throws {
        let query = MessageQuery(
            queue: queue, states: [.dead], after: from.map { SequenceNumber($0.rawValue - 1) }, limit: limit,
            withAttempts: true)
        let listing = Listing(
            query: query, isJSON: outputOptions.isJSON, table: MessageTables.dead(), row: MessageTables.deadRow)
        try await fileOptions.file.look(queue: queue) { try await listing.show(from: $0, on: Output()) }
    }
}
