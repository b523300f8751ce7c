import ArgumentParser
import Penstock

/// `penstock list`
struct ListCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List messages: those that wait or run, or those in the states you name.",
        discussion: """
            EXAMPLES
              penstock list
              penstock list mail --state scheduled --limit 20
              penstock list mail --state done,dead --last 5
              penstock list --json | jq -r .payload
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "Only this queue's.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @Option(
        help: .init("Only messages in these states, with commas between them.", valueName: "states"),
        completion: .list(MessageState.allCases.map(\.rawValue)), transform: Values.states)
    var state: Set<MessageState> = [.scheduled, .ready, .leased]

    @Option(help: .init("Only this message and later ones.", valueName: "sequence"), transform: Values.sequence)
    var from: SequenceNumber?

    @Option(
        parsing: .unconditional,
        help: .init("Only messages accepted at this time or later.", valueName: "time"), transform: Values.time)
    var since: Timestamp?

    @Option(help: .init("Only the last ones, this many.", valueName: "count"))
    var last: Int?

    @Option(help: .init("How many at most.", valueName: "count"))
    var limit = 100

    func validate() throws {
        try Bounds.check(last, 1...Limits.rowsMax, "--last")
        try Bounds.check(limit, 1...Limits.rowsMax, "--limit")
    }

    func execute() async throws {
        let query = MessageQuery(
            queue: queue, states: state, after: from.map { SequenceNumber($0.rawValue - 1) }, since: since,
            end: last == nil ? .first : .last, limit: last ?? limit)
        let listing = Listing(
            query: query, isJSON: outputOptions.isJSON, table: MessageTables.list(), row: MessageTables.listRow)
        try await fileOptions.file.look(queue: queue) { try await listing.show(from: $0, on: Output()) }
    }
}
