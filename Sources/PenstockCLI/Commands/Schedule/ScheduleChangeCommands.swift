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
