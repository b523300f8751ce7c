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
              penstock dead redrive --queue mail --error-contains 'timed out' --dry-run
              penstock dead redrive --queue mail --error-contains 'timed out' --expect 41
              penstock dead redrive --queue mail --like 12
            """)

    @OptionGroup var selection: SelectionOptions
    @OptionGroup var likeOption: LikeOption

    func validate() throws {
        try likeOption.validate(with: selection)
    }

    @MainActor func run() async throws {
        try await selection.apply(
            .redrive, states: [.dead], like: likeOption.like,
            .init(done: "redriven", wouldKey: "wouldRedrive"))
    }
}
