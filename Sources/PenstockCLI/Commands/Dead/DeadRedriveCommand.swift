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

            A dead letter whose unique key another message has cannot be redriven. By numbers, none is then; of a queue it is passed \
            over, and the answer says how many of them stay.
            """)

    @OptionGroup var selection: SelectionOptions

    @MainActor func run() async throws {
        try await selection.apply({ try await $0.redrive($1) }, states: [.dead], "redriven", addition: addition)
    }

    /// Says how many dead letters cannot be redriven.
    @MainActor
    private func addition(_ store: PenstockStore, _ selection: Selection, _: Int) async throws -> CountAddition {
        guard case .queue(let queue, _, let group, _) = selection else { return CountAddition() }
        let count = try await store.deadWithoutKeyCount(of: queue, group: group)
        if count == 0 { return CountAddition() }
        let letters = CountText.format(count, "dead letter")
        return CountAddition(
            phrase: count == 1
                ? "redriven; \(letters) stays, as another message has its unique key"
                : "redriven; \(letters) stay, as other messages have their unique keys",
            members: [JSONValue.Member(key: "keyHeld", value: .integer(count))])
    }
}
