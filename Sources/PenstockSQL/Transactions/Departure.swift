package import PenstockCore

/// That a store's queues move to another store, or have moved there. It is a row of the store: so it counts for every process,
/// whenever that has opened the store, and after any crash.
package struct Departure: Sendable {
    /// How far the move has come.
    package enum Phase: String, Sendable {
        /// Workers may settle what they have.
        case draining
        /// Nothing changes any more, and the rows are read.
        case copying
        /// The other store has all of it.
        case moved
    }

    /// When a job is carried out though the store is left.
    package enum Allowance: Sendable {
        /// Never.
        case nothing
        /// While workers may settle what they have.
        case draining
        /// Always: it is a part of the move, or the end of a process.
        case all
    }

    package let phase: Phase
    package let moveID: String
    /// The other store, as people are told of it.
    package let target: String
    package let targetID: String
    /// The store that is left, as the move has called it.
    private let source: String

    /// What the store says of it; `nil` where its row in `penstock_state` says that it stays.
    ///
    /// - Parameters:
    ///   - phase: what that row says.
    ///   - source: the store, as people are told of it where the move says nothing.
    init?(phase: String?, of source: String, _ connection: Connection) throws {
        guard let phase = phase.flatMap(Phase.init) else { return nil }
        let row = try connection.first(Self.select) {
            ($0.text(0) ?? "", $0.text(1) ?? "another store", $0.text(2) ?? "", $0.text(3) ?? source)
        }
        self.phase = phase
        (moveID, target, targetID, self.source) = row ?? ("", "another store", "", source)
    }

    /// Throws `storeMoved` unless a job that is allowed so much may go on.
    package func refuse(unless allowance: Allowance) throws {
        switch allowance {
        case .all: return
        case .draining where phase == .draining: return
        case .nothing, .draining: throw refusal
        }
    }

    /// What whoever would change the store is told.
    package var refusal: PenstockError {
        let what =
            phase == .moved
            ? "The queues of \(source) have moved to \(target); use that store"
            : "The queues of \(source) are being moved to \(target); use that store once they are there"
        return PenstockError(
            .storeMoved, "\(what), or open this one again with `\(StoreCopy.cancellation(of: source))`.")
    }

    private static let select = Query(
        "SELECT move_id, moved_to, moved_to_id, moved_from FROM penstock_store WHERE id = 1")
}
