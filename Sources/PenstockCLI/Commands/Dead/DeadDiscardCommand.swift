import ArgumentParser
import Penstock

struct DeadDiscardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Throw dead letters away. They stay in the log, cancelled, until retention lets them go.",
        discussion: """
            EXAMPLES
              penstock dead discard 12 13
              penstock dead discard --queue mail
              penstock dead discard --queue mail --like 12
            """)

    @OptionGroup var selection: SelectionOptions
    @OptionGroup var likeOption: LikeOption

    func validate() throws {
        try likeOption.validate(with: selection)
    }

    @MainActor func run() async throws {
        try await selection.apply(
            .discard, states: [.dead], like: likeOption.like,
            .init(done: "discarded", wouldKey: "wouldDiscard"))
    }
}
