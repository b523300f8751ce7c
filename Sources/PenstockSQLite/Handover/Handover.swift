import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// Has calls of this process carried out by the process that has the turn, and theirs by this one when it has it: writers
/// of several processes share transactions and flushes, as callers of one process do.
///
/// Who finds the turn taken posts its calls at a slot of its own and sleeps. Who has the turn takes what is posted, carries
/// it out in its transaction, and wakes each with its answer once all is on the disk. Who leaves the turn wakes one that
/// nobody took.
///
/// Nobody is relied on to live. A slot is a process's for as long as it holds a lock on a byte of the file. A request is
/// `taken` only under the turn, and the transaction that carries it out writes its name into `penstock_state`: when the
/// next one with the turn finds a request still taken, that name says whether it was committed. Who waits for an answer
/// to what is committed, and does not get it, flushes itself.
///
/// After Hendler, Incze, Shavit and Tzafrir, "Flat Combining and the Synchronization-Parallelism Tradeoff", 2010.
final class Handover: Sendable {
    /// What another process has done with the calls that were posted, from the first one on.
    struct Answer {
        /// What each gave.
        var receipts: [[Receipt]]
        /// Whether these are fewer than were posted, as the next one was refused: its own process carries it out.
        var isPartial: Bool
        /// Why nobody can say that it is on the disk.
        var failure: PenstockError?

        /// An answer to nothing.
        static let none = Answer(receipts: [], isPartial: false, failure: nil)
    }

    /// How the wait for the turn has ended.
    enum Entry {
        case turn
        case answered(Answer)
    }

    let board: HandoverBoard
    private let descriptor: Int32
    private let turnstile: WriterLock
    private let flusher: Flusher?
    private let postMax: Duration
    private let slot = Mutex<Int?>(nil)

    /// Whether a wait may have to go on without whoever it waited for.
    private static let pauseMin = Duration.milliseconds(5)
    private static let pauseMax = Duration.milliseconds(100)

    /// `nil` when its file cannot be made: then each process carries out its own calls.
    ///
    /// - Parameter flusher: `nil` in an application's pool, whose transactions are its own. The store then only wakes
    ///   who waits.
    /// - Parameter postMax: how long a call stays posted that nobody takes. Then its process waits for a turn of its own, in
    ///   the kernel's line.
    init?(_ folder: SharedFolder, turnstile: WriterLock, flusher: Flusher?, postMax: Duration) {
        guard let descriptor = try? folder.open(folder.handover) else { return nil }
        guard let board = HandoverBoard(descriptor) else {
            close(descriptor)
            return nil
        }
        (self.board, self.descriptor, self.turnstile) = (board, descriptor, turnstile)
        (self.flusher, self.postMax) = (flusher, postMax)
    }

    deinit {
        close(descriptor)
    }

    /// The slot of this process, once it has posted something.
    var ownSlot: Int? { slot.withLock { $0 } }

    /// Whether calls are handed over, in either direction.
    var isOpen: Bool { flusher != nil }

    /// Whether the process that owns `slot` lives.
    func isOwned(_ slot: Int) -> Bool { ByteLock(descriptor: descriptor, offset: slot).isHeldByOthers }

    // MARK: Posting

    /// Posts the first of `parcels`, as many as have room.
    ///
    /// - Returns: how many that were; 0 when there is nothing to wait for.
    func post(_ parcels: [Parcel]) -> Int {
        if parcels.isEmpty || !isOpen { return 0 }
        let slot = slot.withLock { slot in
            if slot == nil { slot = acquireSlot() }
            return slot
        }
        guard let slot else { return 0 }
        let word = board.word(of: slot)
        guard word.state == .idle else { return 0 }
        let count = write(parcels, at: slot)
        if count == 0 { return 0 }
        board.quietBell(of: slot)
        return board.begin(slot, after: word, as: .posted) ? count : 0
    }

    private func write(_ parcels: [Parcel], at slot: Int) -> Int {
        var writer = ByteWriter(board.request(of: slot))
        writer.write(UInt32(0))
        var (count, messageCount) = (0, 0)
        for parcel in parcels {
            let end = writer.count
            messageCount += parcel.messages.count
            parcel.write(to: &writer)
            if writer.isOver || messageCount > Parcel.messagesMax {
                writer.goBack(to: end)
                break
            }
            count += 1
        }
        writer.goBack(to: 0)
        writer.write(UInt32(count))
        return count
    }

    /// Takes back what was posted, and wakes who waits for it. Any thread may do this.
    ///
    /// - Returns: false when it was taken by somebody.
    func withdraw() -> Bool {
        guard let slot = ownSlot else { return true }
        let word = board.word(of: slot)
        let isMine = word.state == .idle || word.state == .posted && board.move(slot, from: word, to: .idle)
        // Also when it is not: a wait by the wall clock may be longer than was meant.
        board.ring(slot)
        return isMine
    }

    /// Gives up what was posted, whatever becomes of it, and wakes who waits for it. Who has taken it meets another ticket.
    func disown() {
        guard let slot = ownSlot else { return }
        while !board.begin(slot, after: board.word(of: slot), as: .idle) {}
        board.ring(slot)
    }

    // MARK: Waiting

    /// Waits until what was posted was carried out, or until this process has the turn. The slot stays as it is after an
    /// answer, so that it is not taken for idle, until it is given up.
    func wait() -> Entry {
        guard let slot = ownSlot else {
            turnstile.enter()
            return .turn
        }
        let began = ContinuousClock.now
        var pause = Self.pauseMin
        var isLate = false
        while true {
            let word = board.word(of: slot)
            switch word.state {
            case .answered:
                return .answered(collect(slot, mustFlush: false))
            case .idle:
                // It was withdrawn, by who answers those that wait too long.
                turnstile.enter()
                return .turn
            case .posted:
                // The one who had the turn may have left before this was posted.
                if turnstile.enterAtOnce() {
                    if board.move(slot, from: word, to: .idle) { return .turn }
                    leaveTurn()
                    continue
                }
                if isLate, ContinuousClock.now - began > postMax, board.move(slot, from: word, to: .idle) { continue }
            case .committed where isLate:
                return .answered(collect(slot, mustFlush: true))
            case .taken where isLate:
                // With the turn it is known what became of it.
                if turnstile.enterAtOnce() { return .turn }
            case .committed, .taken:
                break
            }
            isLate = !board.waitForRing(slot, upTo: pause)
            if isLate { pause = min(pause * 2, Self.pauseMax) }
        }
    }

    /// Leaves the turn, and wakes one who waits for it.
    func leaveTurn() {
        turnstile.leave()
        let first = (ownSlot ?? -1) + 1
        for index in 0..<HandoverBoard.slotCount {
            let slot = (first + index) % HandoverBoard.slotCount
            if board.word(of: slot).state == .posted { return board.ring(slot) }
        }
    }

    /// Has the turn, and may find that somebody who is dead had taken what it posted.
    ///
    /// - Returns: the answer, if it was carried out. Nothing is posted any more.
    /// - Throws: when that cannot be known.
    func collectAbandoned() throws -> Answer? {
        guard let slot = ownSlot else { return nil }
        while true {
            let word = board.word(of: slot)
            switch word.state {
            case .idle:
                return nil
            case .committed, .answered:
                defer { disown() }
                return collect(slot, mustFlush: word.state == .committed)
            case .posted, .taken:
                guard board.begin(slot, after: word, as: .idle) else { continue }
                if word.state == .posted { return nil }
                throw PenstockError(
                    .storage, "A process died while it carried this call out for others; it may be there or not.")
            }
        }
    }

    private func collect(_ slot: Int, mustFlush: Bool) -> Answer {
        let receipts = readAnswer(of: slot)
        var request = ByteReader(board.request(of: slot))
        return Answer(
            receipts: receipts, isPartial: receipts.count < request.integer(UInt32.self) ?? 0,
            failure: mustFlush ? flusher?.flushed() : nil)
    }

    // MARK: Slots

    private func acquireSlot() -> Int? {
        let first = Int(getpid()) % HandoverBoard.slotCount
        for index in 0..<HandoverBoard.slotCount {
            let slot = (first + index) % HandoverBoard.slotCount
            let lock = ByteLock(descriptor: descriptor, offset: slot)
            guard lock.take() else { continue }
            // What a dead process has posted here is nobody's. What was taken from it is still being written to.
            let word = board.word(of: slot)
            if word.state != .taken, board.begin(slot, after: word, as: .idle) {
                board.makeBell(of: slot)
                return slot
            }
            lock.release()
        }
        return nil
    }
}
