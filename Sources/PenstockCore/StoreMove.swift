/// That the queues of a store move to another one, or have moved there: the store takes nothing and gives nothing.
///
/// Whoever would write is told so by the error `storeMoved`, and whoever looks by ``StoreStatus/move``.
public struct StoreMove: Hashable, Sendable {
    /// How far a move has come.
    public enum Phase: String, Sendable, CaseIterable {
        /// Workers may settle what they have.
        case draining
        /// Nothing changes any more, and the rows are read.
        case copying
        /// The other store has all of it.
        case moved
    }

    /// How far it has come.
    public var phase: Phase
    /// The store that is left, as the move has called it.
    public var source: String
    /// The store that gets the queues, as people are told of it: a path, or an address without a password.
    public var target: String

    /// Says that queues move.
    public init(phase: Phase, source: String, target: String) {
        self.phase = phase
        self.source = source
        self.target = target
    }

    /// What a caller is told who would change the store, and a task that waits there for what will not come.
    package var refusal: PenstockError {
        PenstockError(.storeMoved, "The queues of \(source) \(predicate) to \(target); \(advice).")
    }

    /// What it means for whoever looks, without a full stop. The target is named as it is, and may have any character.
    package var statement: String { statement(target) }

    /// The same without the target, for a caller who has shown no token.
    package var anonymousStatement: String { statement("another store") }

    /// What can be done about it, as the end of a sentence.
    package var advice: String {
        let use = phase == .moved ? "use that store" : "use that store once they are there"
        return "\(use), or open this one again with `\(StoreCopy.cancellation(of: source))`"
    }

    /// What the queues do: the middle of a sentence.
    package var predicate: String { phase == .moved ? "have moved" : "are being moved" }

    private func statement(_ target: String) -> String {
        "The queues \(predicate) to \(target): nothing is taken or given here"
    }
}
