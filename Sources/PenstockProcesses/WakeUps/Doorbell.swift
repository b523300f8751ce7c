import Foundation
package import PenstockCore

/// Tells the other processes on this machine that something was committed.
///
/// A ring is a note on the board and a write to its file. A process that listens has the kernel watch that file. When no
/// other process listens, a ring is one question to the kernel. A ring that is lost costs latency and never a message:
/// a process that listens also looks by itself.
package final class Doorbell: Sendable {
    package let board: DoorbellBoard
    package let attendance: WakeSuppression

    /// - Parameter time: a clock that all processes share.
    package init(_ folder: SharedFolder, time: any TimeSource = SystemTime()) throws {
        board = try DoorbellBoard(in: folder)
        attendance = WakeSuppression(board, time: time)
    }

    /// What a store listens for. Each has a byte of its own to be locked.
    package enum Purpose: Int {
        case anything
        /// Every ring, and not only for work: for tasks that follow a log or wait for room.
        case news
    }

    /// Rings at `buckets`. Called after COMMIT, when other processes can see what was written.
    package func ring(_ buckets: [(Int, Ring)]) {
        if buckets.isEmpty { return }
        let areAttended = buckets.allSatisfy { attendance.tag(at: $0) == $1.tag && !$1.isForAll }
        if !areAttended, !lock(for: .anything).isHeldByOthers { return }
        for (bucket, ring) in buckets {
            var ring = ring
            // A process that attends the bucket for another queue would take the messages for its own.
            if ring.messages > 0, let tag = attendance.tag(at: bucket), tag != ring.tag { ring.isForAll = true }
            board.ring(at: bucket, ring)
        }
        // The process that attended may have left in between.
        let areStill = areAttended && buckets.allSatisfy { attendance.tag(at: $0) == $1.tag }
        // Where there is nothing to claim, the ring is for tasks that follow a log or wait for room.
        if areStill || buckets.allSatisfy({ $1.change < .work }), !lock(for: .news).isHeldByOthers { return }
        board.touch()
    }

    /// A worker here has claimed at `bucket`: all that it can take, or less.
    package func claim(at bucket: Int, tag: UInt16 = 0, isAllThatThereWas: Bool) {
        if isAllThatThereWas {
            attendance.claim(at: bucket, tag: tag)
        } else if attendance.leave(bucket) {
            passOn(bucket)
        }
    }

    /// Ends the attendance where nobody is at work any more, so that others have what is announced.
    package func leaveQuiet() {
        for bucket in attendance.leaveQuiet() { passOn(bucket) }
    }

    /// Ends all attendance, as nobody will hear without being woken any more.
    package func leaveAll() {
        for bucket in attendance.buckets where attendance.leave(bucket) { passOn(bucket) }
    }

    /// Rings for what was announced at `bucket` while it was attended.
    private func passOn(_ bucket: Int) {
        if board.word(at: bucket).messages == 0 { return }
        board.ring(at: bucket, Ring())
        board.touch()
    }

    /// Says that this store listens, until the doorbell is let go. It must be said before the first look, so that a
    /// process that commits after that look rings.
    package func listen(to purpose: Purpose = .anything) {
        lock(for: purpose).share()
        // What was rung for until now, while the bucket was attended, is heard now.
        if purpose == .news { board.touch() }
    }

    /// The lock that each store shares that listens for this, in this process or in another.
    private func lock(for purpose: Purpose) -> ByteLock {
        ByteLock(descriptor: board.descriptor, offset: DoorbellBoard.touchedByte + purpose.rawValue)
    }
}
