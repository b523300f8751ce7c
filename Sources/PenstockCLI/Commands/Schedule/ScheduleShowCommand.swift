import ArgumentParser
import Penstock
import PenstockFormats

struct ScheduleShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a schedule with its last firings.",
        discussion: """
            EXAMPLES
              penstock schedule show nightly
            """)

    @OptionGroup var options: OneScheduleOptions

    @MainActor func run() async throws {
        try await options.storeOptions.file.look { store in
            let record = try await store.schedule(options.name.text)
            try Output().show(
                [record.json], or: ScheduleTables.details(record), isJSON: options.storeOptions.isJSON)
        }
    }
}
