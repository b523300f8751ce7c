import ArgumentParser
import Penstock

struct QueuePauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Refuse claims from a queue. Messages are still accepted, and running ones go on.",
        discussion: """
            EXAMPLES
              penstock queue pause mail
            """)

    @OptionGroup var options: QueueOptions

    @MainActor func run() async throws {
        try await options.change("paused") { try await $0.pause() }
    }
}

struct QueueResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Allow claims from a paused queue again.",
        discussion: """
            EXAMPLES
              penstock queue resume mail
            """)

    @OptionGroup var options: QueueOptions

    @MainActor func run() async throws {
        try await options.change("resumed") { try await $0.resume() }
    }
}
