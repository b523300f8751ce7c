import ArgumentParser
import Penstock

struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List messages: those that wait or run, or those in the states you name.",
        discussion: """
            EXAMPLES
              penstock list
              penstock list mail --state scheduled --limit 20
              penstock list mail --state done,dead --last 5
              penstock list mail --state done --payload-contains ada@example.org
              penstock list --json | jq -r .payload

            Without --state: pending,scheduled,blocked,ready,leased.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "Only this queue's.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @OptionGroup var stretch: StretchOptions

    @Option(help: .init("Only messages of the group with this key.", valueName: "key"))
    var group: String?

    @OptionGroup var filterOptions: FilterOptions

    @Option(help: .init("How many at most.", valueName: "count"))
    var limit = 100

    func validate() throws { try Bounds.check(limit, 1...Limits.rowsMax, "--limit") }

    @MainActor func run() async throws {
        var query = stretch.query(of: queue, states: [.pending, .scheduled, .blocked, .ready, .leased], limit: limit)
        query.group = group
        query.matching = filterOptions.filter
        let listing = Listing(
            query: query, isJSON: storeOptions.isJSON, table: MessageTables.list(), row: MessageTables.listRow)
        try await storeOptions.file.look(queue: queue) { try await listing.show(from: $0) }
    }
}
