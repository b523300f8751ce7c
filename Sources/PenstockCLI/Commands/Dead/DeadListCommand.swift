import ArgumentParser
import Penstock

struct DeadListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List dead letters with what went wrong last.",
        discussion: """
            EXAMPLES
              penstock dead list
              penstock dead list mail --json | jq '.attempts[-1].error'
              penstock dead list mail --error-contains 'timed out'
              penstock dead list --by-error

            With --by-error: how many dead letters have failed in the same way, by queue, reason, and the first line of \
            their last error without its numbers. `penstock dead redrive --queue QUEUE --like EXAMPLE` takes those of one line.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "Only this queue's.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @Option(help: .init("From this message on.", valueName: "sequence"), transform: Values.sequence)
    var from: SequenceNumber?

    @Option(help: .init("How many at most.", valueName: "count"))
    var limit = 100

    @OptionGroup var filterOptions: FilterOptions

    @Flag(help: "Show how many have failed in the same way, instead of each.")
    var byError = false

    func validate() throws {
        if byError, from != nil || !filterOptions.isEmpty {
            throw ValidationError("--by-error takes a queue, and no other choice of messages.")
        }
        try Bounds.check(limit, 1...Limits.rowsMax, "--limit")
    }

    @MainActor func run() async throws {
        if byError {
            return try await storeOptions.file.look(queue: queue) { store in
                let page = try await store.deadGroups(DeadGroupQuery(queue: queue))
                try DeadGroupViews.show(page, limit: limit, isJSON: storeOptions.isJSON)
            }
        }
        let query = MessageQuery(
            queue: queue, matching: filterOptions.filter, states: [.dead],
            after: from.map { SequenceNumber($0.rawValue - 1) }, limit: limit,
            withAttempts: true)
        let listing = Listing(
            query: query, isJSON: storeOptions.isJSON, table: MessageTables.dead(), row: MessageTables.deadRow)
        try await storeOptions.file.look(queue: queue) { try await listing.show(from: $0) }
    }
}
