import ArgumentParser
import Penstock
import PenstockFormats

struct WorkflowListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List workflows, in the order of their start, and how many of their tasks are in each state.",
        discussion: """
            EXAMPLES
              penstock workflow list
              penstock workflow list --last 20
              penstock workflow list --json | jq -r 'select(.state == "held").workflow'
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Option(help: .init("How many at most.", valueName: "count"))
    var limit = 1000

    @Option(help: .init("Only the last ones, this many.", valueName: "count"))
    var last: Int?

    func validate() throws {
        try Bounds.check(limit, 1...Int.max, "--limit")
        try Bounds.check(last, 1...Limits.rowsMax, "--last")
    }

    @MainActor func run() async throws {
        let output = Output()
        try await storeOptions.file.look { store in
            let limit = last ?? limit
            var (shown, query) = (0, last.map { WorkflowQuery(end: .last, limit: $0) } ?? WorkflowQuery())
            var table = WorkflowTables.list()
            // One more than is shown tells whether that was all.
            pages: while case let page = try await store.workflows(query), let end = page.last {
                for record in page {
                    shown += 1
                    if shown > limit { break pages }
                    if storeOptions.isJSON {
                        try output.line(record.json)
                    } else {
                        table.add(WorkflowTables.listRow(record))
                    }
                }
                if last != nil { break }
                query.after = end.id
            }
            if !storeOptions.isJSON { try output.table(table) }
            try output.flush()
            if shown > limit {
                ErrorOutput.say("There are more than these \(limit); use --limit to see others.")
            }
        }
    }
}
