import ArgumentParser
import Penstock
import PenstockFormats

/// `penstock schedule list`
struct ScheduleListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the schedules, and when they fire next.",
        discussion: """
            EXAMPLES
              penstock schedule list
              penstock schedule list --json | jq -r .nextDue
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @MainActor func run() async throws {
        let output = Output()
        try await fileOptions.file.look { store in
            let schedules = try await store.schedules()
            if outputOptions.isJSON {
                for schedule in schedules { try output.line(schedule.jsonOfList) }
            } else {
                try output.table(ScheduleTables.list(schedules))
            }
            try output.flush()
        }
    }
}
