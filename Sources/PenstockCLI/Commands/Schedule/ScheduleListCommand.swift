import ArgumentParser
import Penstock
import PenstockCore
import PenstockFormats

struct ScheduleListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the schedules, and when they fire next.",
        discussion: """
            EXAMPLES
              penstock schedule list
              penstock schedule list --limit 20 --after nightly
              penstock schedule list --json | jq -r .nextDue
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Option(help: .init("How many at most, by name.", valueName: "count"))
    var limit = 1000

    @Option(
        help: .init("Only those whose name comes after this one.", valueName: "name"),
        transform: { try ScheduleName($0) })
    var after: ScheduleName?

    func validate() throws { try Bounds.check(limit, 1...Int.max, "--limit") }

    @MainActor func run() async throws {
        let output = Output()
        try await storeOptions.file.look { store in
            var (shown, place, isMore) = (0, after, true)
            var table = ScheduleTables.list()
            while isMore, shown < limit {
                let page = try await store.storage.schedules(after: place, limit: limit - shown)
                for record in page.records {
                    if storeOptions.isJSON {
                        try output.line(record.jsonOfList)
                    } else {
                        table.add(ScheduleTables.listRow(record))
                    }
                }
                shown += page.records.count
                (place, isMore) = (page.records.last?.name, page.isMore)
            }
            if !storeOptions.isJSON { try output.table(table) }
            try output.flush()
            if isMore {
                ErrorOutput.say("There are more than these \(limit); use --limit or --after to see others.")
            }
        }
    }
}
