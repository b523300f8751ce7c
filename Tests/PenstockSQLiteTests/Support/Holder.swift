import Foundation
import GRDB
import PenstockCore
import Synchronization

@testable import PenstockProcesses
@testable import PenstockSQLite

/// Somebody who has the turn and does with it what a test says, step by step, or dies.
final class Holder {
    /// For stores: what is posted stays so until the test has looked.
    static var options: SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.postMax = .seconds(60)
        return options
    }

    let handover: Handover
    private let turnstile: WriterLock
    private let path: String
    private let flushes = Mutex(0)

    /// Takes the turn at the store at `path`.
    init(_ path: String) throws {
        self.path = path
        let folder = try SharedFolder(besideDatabaseAt: path)
        turnstile = try WriterLock(folder)
        let flusher = try Flusher(path, flush: Flusher.systemFlush)
        guard let handover = Handover(folder, turnstile: turnstile, flusher: flusher, postMax: .seconds(60)) else {
            throw CocoaError(.fileNoSuchFile)
        }
        self.handover = handover
        turnstile.enter()
    }

    /// How many requests stand at `state`.
    func count(_ state: HandoverBoard.State) -> Int {
        (0..<HandoverBoard.slotCount).count { handover.board.word(of: $0).state == state }
    }

    /// Returns once `count` processes have posted something.
    func waitForPosts(_ count: Int = 1) async {
        while self.count(.posted) < count, !Task.isCancelled { await Task.yield() }
    }

    /// Takes what is posted, for the transaction called `batch`.
    func take(batch: UInt64) -> [Handover.Guest] {
        handover.takeGuests(batch: batch, now: SystemTime().now)
    }

    /// Writes down receipts for one message of each of `guests`, of a transaction that comes to nothing.
    func promise(_ guests: [Handover.Guest]) {
        let receipt = Receipt(sequence: SequenceNumber(99), state: .ready, durability: .powerLoss)
        for guest in guests { handover.write([[receipt]], for: guest) }
    }

    /// Commits what a store would for one message of each of `guests`, and writes down the receipts before.
    func commit(_ guests: [Handover.Guest], batch: UInt64) throws {
        let database = try DatabaseQueue(path: path)
        try database.write { database in
            for guest in guests {
                let receipts = try guest.parcels.map { parcel in
                    try parcel.messages.map { message in
                        try database.execute(
                            sql: "INSERT INTO penstock_messages (queue, payload) VALUES (?, ?)",
                            arguments: [parcel.queue.text, Data(message.payload)])
                        let sequence = try Int64.fetchOne(database, sql: "SELECT last_sequence FROM penstock_state")
                        return Receipt(
                            sequence: SequenceNumber(sequence ?? 0), state: .ready, durability: parcel.durability)
                    }
                }
                handover.write(receipts, for: guest)
            }
            try database.execute(
                sql: "UPDATE penstock_state SET last_batch = ?", arguments: [Int64(bitPattern: batch)])
        }
        try database.close()
    }

    /// Leaves the turn as one who goes on does.
    func leave() {
        handover.leaveTurn()
    }

    /// Loses the turn, and says nothing more.
    func die() {
        turnstile.leave()
    }

    /// Takes the turn again.
    func enter() {
        turnstile.enter()
    }
}
