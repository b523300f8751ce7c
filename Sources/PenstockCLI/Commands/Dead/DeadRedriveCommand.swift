import ArgumentParser
import Penstock
import PenstockFormats

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

            A dead letter whose unique key another message has cannot be redriven. By numbers, none is then; of a queue it is passed \
            over, and the answer says how many of them stay, unless it ended at --limit.
            """)

    @OptionGroup var selection: SelectionOptions
    @OptionGroup var likeOption: LikeOption

    func validate() throws { try likeOption.validate(with: selection) }

    @MainActor func run() async throws {
        try await selection.apply(
            .redrive, states: [.dead], like: likeOption.like, check: refuseScheduled, addition: addition)
    }

    /// The store puts a scheduled message in line by the same command: a slip in a number must not send it before its time.
    @MainActor
    private func refuseScheduled(_ store: PenstockStore, _ selection: Selection) async throws {
        guard case .sequences(let sequences) = selection else { return }
        for sequence in sequences where try await store.message(sequence).state == .scheduled {
            throw Failure(
                .usage,
                "Message \(sequence) is scheduled and no dead letter; `penstock retry \(sequence)` puts it in line now. Nothing was changed."
            )
        }
    }

    /// Says how many dead letters cannot be redriven. Where the limit has ended it, nobody has looked at the rest, which may be a million
    /// for the hundred that were moved.
    @MainActor
    private func addition(_ store: PenstockStore, _ selection: Selection, _ moved: Int) async throws -> CountAddition {
        guard case .queue(let queue, _, let group, let filter, let limit, _) = selection else { return CountAddition() }
        if let limit, moved >= limit { return CountAddition() }
        let count =
            if filter.isEmpty {
                try await store.deadWithoutKeyCount(of: queue, group: group)
            } else {
                // What is left of all that matched has stayed for that reason.
                limit == nil ? try await store.count(selection, for: .redrive) : 0
            }
        if count == 0 { return CountAddition() }
        let letters = CountText.format(count, "dead letter")
        return CountAddition(
            phrase: count == 1
                ? "redriven; \(letters) stays, as another message has its unique key"
                : "redriven; \(letters) stay, as other messages have their unique keys",
            members: [JSONValue.Member(key: "keyHeld", value: .integer(count))])
    }
}

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

    func validate() throws { try likeOption.validate(with: selection) }

    @MainActor func run() async throws {
        try await selection.apply(.discard, states: [.dead], like: likeOption.like)
    }
}
