import ArgumentParser
import Penstock

struct ScheduleResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Fire again, from now on. What would have fired meanwhile is not missed.",
        discussion: """
            EXAMPLES
              penstock schedule resume nightly
            """)

    @OptionGroup var options: OneScheduleOptions

    @MainActor func run() async throws {
        try await options.change("resumed") { store, name in try await store.resumeSchedule(name) }
    }
}
