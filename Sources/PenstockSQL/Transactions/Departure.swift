package import PenstockCore

/// That a store's queues move to another store, or have moved there. It is a row of the store: so it counts for every process,
/// whenever that has opened the store, and after any crash.
package struct Departure: Sendable {
    /// When a job is carried out though the store is left.
    package enum Allowance: Sendable {
        /// Never.
        case nothing
        /// While workers may settle what they have.
        case draining
        /// Always: it is a part of the move, or the end of a process.
        case all
    }

    /// What whoever looks is told.
    package let move: StoreMove
    package let moveID: String
    package let targetID: StoreID

    package var phase: StoreMove.Phase { move.phase }
    package var target: String { move.target }

    /// What the store says of it; `nil` where its row in `penstock_state` says that it stays.
    ///
    /// - Parameters:
    ///   - phase: what that row says.
    ///   - source: the store, as people are told of it where the move says nothing.
    init?(phase: String?, of source: String, _ connection: Connection) throws {
        guard let phase = phase.flatMap(StoreMove.Phase.init) else { return nil }
        let row = try connection.first(Self.select) {
            ($0.text(0) ?? "", $0.text(1) ?? "another store", $0.text(2) ?? "", $0.text(3) ?? source)
        }
        let (moveID, target, targetID, called) = row ?? ("", "another store", "", source)
        (self.moveID, self.targetID) = (moveID, StoreID(rawValue: targetID))
        move = StoreMove(phase: phase, source: called, target: target)
    }

    /// What the store says in a snapshot to whoever looks; `nil`: it stays.
    package static func read(_ connection: Connection) throws -> StoreMove? {
        let phase = try connection.first(readPhase) { $0.text(0) } ?? nil
        return try Departure(phase: phase, of: "STORE", connection)?.move
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
    package var refusal: PenstockError { move.refusal }

    private static let readPhase = Query("SELECT moving FROM penstock_state WHERE id = 1")
    private static let select = Query(
        "SELECT move_id, moved_to, moved_to_id, moved_from FROM penstock_store WHERE id = 1")
}
