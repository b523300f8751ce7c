import ArgumentParser
import Penstock

/// `penstock dead discard`
struct DeadDiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Throw dead letters away. They stay in the log, cancelled, until retention lets them go.",
        discussion: """
            EXAMPLES
              penstock dead discard 12 13
              penstock dead discard --queue mail
            """)

    @OptionGroup var selection: SelectionOptions

    @MainActor func run() async throws {
        try await selection.apply({ try await $0.discard($1) }, states: [.dead], "discarded")
    }
}
