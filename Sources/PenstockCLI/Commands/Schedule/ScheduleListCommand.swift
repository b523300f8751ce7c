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
        try await fileOptions.file.look { store in
            let schedules = try await store.schedules()
            try Output().show(
                schedules.map(\.jsonOfList), or: ScheduleTables.list(schedules).lines, isJSON: outputOptions.isJSON)
        }
    }
}
