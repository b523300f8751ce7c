import ArgumentParser
import Penstock

struct SchedulePauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Fire no more until it is resumed.",
        discussion: """
            EXAMPLES
              penstock schedule pause nightly
            """)

    @OptionGroup var options: OneScheduleOptions

    @MainActor func run() async throws {
        try await options.change("paused") { store, name in try await store.pauseSchedule(name) }
    }
}
