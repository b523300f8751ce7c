import ArgumentParser
import Penstock

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
