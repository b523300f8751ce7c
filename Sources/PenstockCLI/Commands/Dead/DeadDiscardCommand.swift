import ArgumentParser
import Penstock

/// `penstock dead discard`
struct DeadDiscardCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Throw dead letters away. They stay in the log, cancelled, until retention lets them go.",
        discussion: """
            EXAMPLES
              penstock dead discard 12 13
              penstock dead discard --queue mail
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var selection: SelectionOptions

    func execute() async throws {
        try await fileOptions.file.use(queue: selection.queue) { store in
            try Output().count(
                try await store.discard(selection.selection(states: [.dead])), "discarded",
                isJSON: outputOptions.isJSON)
        }
    }
}
