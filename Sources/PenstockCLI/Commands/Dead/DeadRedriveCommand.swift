import ArgumentParser
import Penstock

/// `penstock dead redrive`
struct DeadRedriveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "redrive",
        abstract: "Put dead letters back in line with new attempts.",
        discussion: """
            EXAMPLES
              penstock dead redrive 12 13
              penstock dead redrive --queue mail --limit 100
            """)

    @OptionGroup var selection: SelectionOptions

    @MainActor func run() async throws {
        try await selection.apply({ try await $0.redrive($1) }, states: [.dead], "redriven")
    }
}
