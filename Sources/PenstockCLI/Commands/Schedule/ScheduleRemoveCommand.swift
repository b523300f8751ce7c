import ArgumentParser
import Penstock

struct ScheduleRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a schedule. Its messages stay.",
        discussion: """
            EXAMPLES
              penstock schedule remove nightly
            """)

    @OptionGroup var options: OneScheduleOptions

    @MainActor func run() async throws {
        try await options.change("removed") { store, name in try await store.removeSchedule(name) }
    }
}
