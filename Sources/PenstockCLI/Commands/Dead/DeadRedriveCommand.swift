import ArgumentParser
import Penstock

/// `penstock dead redrive`
struct DeadRedriveCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Put dead letters back in line with new attempts.",
        discussion: """
            EXAMPLES
              penstock dead redrive 12 13
              penstock dead redrive --queue mail --limit 100
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions
    @OptionGroup var selection: SelectionOptions

    func execute() async throws {
        try await fileOptions.file.use(queue: selection.queue) { store in
            try Output().count(
                try await store.redrive(selection.selection(states: [.dead])), "redriven", isJSON: outputOptions.isJSON)
        }
    }
}
