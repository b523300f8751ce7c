import Foundation
package import PenstockCore
import Synchronization

/// Wakes for what was committed: the tasks of this process, and the other processes on this machine.
///
/// A ring is a note on the board and a write to its file. A process that listens has the kernel watch that file. When no
/// other process listens, a ring is one question to the kernel. A ring that is lost costs latency and never a message:
/// a process that listens also looks by itself.
///
/// Under load it would cost more to wake a worker for each message than to work it, and several processes would each
/// be woken for a little. So the first process that has a worker at work, with room left, says on the board that it attends
/// the bucket, and hears there without being woken. For a few milliseconds at a time a process that commits there wakes no
/// other, the watchers of other processes leave the messages to it, and their workers hand in without taking up more. It
/// ends at once when its worker has no room left. A process that dies leaves a word that runs out; what was announced
/// meanwhile is found at the next look.
package final class Doorbell: Sendable {
    private struct State {
        /// Where this process attends.
        var attended: Set<Int> = []
        /// Until when a worker counts as at work with room left, from its last sign, and its queue's tag.
        var signs: [Int: (end: BootTime, tag: UInt16)] = [:]
    }

    #if os(Linux)
        private static let canAttend = true
    #else
        /// A process hears when it is woken, and not otherwise.
        private static let canAttend = false
    #endif

    package let board: DoorbellBoard
    /// Wakes the tasks of this process.
    package let wakeups: Wakeups
    private let time: any TimeSource
    private let state = Mutex(State())

    /// - Parameter time: a clock that all processes share.
    package init(_ folder: SharedFolder, time: any TimeSource = SystemTime()) throws {
        let board = try DoorbellBoard(in: folder)
        self.board = board
        self.time = time
        wakeups = Wakeups { board.listen(to: .news) }
    }

    // MARK: Committing

    /// Rings: the tasks of this process that are woken have the first messages, and other processes are told of the rest.
    /// Called after COMMIT, when other processes can see what was written.
    package func ring(_ rings: [(bucket: Int, ring: Ring)]) {
        if rings.isEmpty { return }
        let rings = rings.map { bucket, ring in
            var rest = ring
            if ring.isForAll { wakeups.notices.ring(at: bucket) }
            rest.messages = max(0, ring.messages - wakeups.ringAll(at: bucket, for: ring.change))
            return (bucket: bucket, ring: rest)
        }
        let areAttended = rings.allSatisfy { attendedTag(at: $0) == $1.tag && !$1.isForAll }
        if !areAttended, !board.isHeard(by: .anything) { return }
        for (bucket, ring) in rings {
            var ring = ring
            // A process that attends the bucket for another queue would take the messages for its own.
            if ring.messages > 0, let tag = attendedTag(at: bucket), tag != ring.tag { ring.isForAll = true }
            board.ring(at: bucket, ring)
        }
        // The process that attended may have left in between.
        let areStill = areAttended && rings.allSatisfy { attendedTag(at: $0) == $1.tag }
        // Where there is nothing to claim, the ring is for tasks that follow a log or wait for room.
        if areStill || rings.allSatisfy({ $1.change < .work }), !board.isHeard(by: .news) { return }
        board.touch()
    }

    // MARK: Claiming

    package func attendedTag(at bucket: Int) -> UInt16? { board.attendedTag(at: bucket, now: time.boot) }

    /// Whether another process attends `bucket`, which then has what is announced there: for whichever queue, or for the
    /// one with that tag.
    package func isOthers(_ bucket: Int, tag: UInt16? = nil) -> Bool {
        guard let attended = attendedTag(at: bucket), attended == tag ?? attended else { return false }
        return !state.withLock { $0.attended.contains(bucket) }
    }

    /// A worker here has claimed at `bucket`: all that there was, or as much as it can take.
    ///
    /// - Parameter announced: what was announced before the claim. If it took all, others need not be woken for that.
    package func claim(
        at bucket: Int, tag: UInt16 = 0, announced: DoorbellBoard.Word? = nil, isAllThatThereWas: Bool
    ) {
        if isAllThatThereWas {
            if let announced { board.clear(bucket, ifStill: announced) }
            let now = time.boot
            state.withLock { sign(at: bucket, tag, now, &$0) }
        } else {
            leave { state in
                state.signs[bucket] = nil
                return [bucket]
            }
        }
    }

    private func sign(at bucket: Int, _ tag: UInt16, _ now: BootTime, _ state: inout State) {
        let end = now + DoorbellBoard.attendanceMax
        state.signs[bucket] = (end, tag)
        if state.attended.contains(bucket) { board.attend(bucket, until: end, tag: tag) }
    }

    // MARK: Hearing

    /// Where this process hears without being woken.
    var attended: Set<Int> { state.withLock { $0.attended } }

    /// Takes what is announced at `bucket` for tasks here, which have room for so many messages.
    ///
    /// - Returns: for how many messages to wake them; for none if they are another process's.
    func take(_ room: Int, at bucket: Int) -> Int {
        if isOthers(bucket) { return 0 }
        let count = room == 0 ? 0 : board.take(room, at: bucket)
        if !Self.canAttend { return count }
        let now = time.boot
        state.withLock { state in
            // A message now and then is not worth it: a worker has to be at work already. Those at work have said so when
            // they claimed.
            guard let (end, tag) = state.signs[bucket], room == 0 || count < room else { return }
            if end.left(at: now) != nil {
                state.attended.insert(bucket)
                board.attend(bucket, until: end, tag: tag)
            }
            if count > 0 { sign(at: bucket, tag, now, &state) }
        }
        return count
    }

    /// Ends the attendance where no worker has given a sign for a while, so that others have what is announced.
    func leaveQuiet() {
        let now = time.boot
        leave { state in state.attended.filter { state.signs[$0]?.end.left(at: now) == nil } }
    }

    /// Ends all attendance, as nobody will hear without being woken any more.
    func leaveAll() {
        leave { $0.attended }
    }

    /// Ends the attendance at those buckets, and rings for what was announced there meanwhile: it may have woken nobody.
    private func leave(_ which: (inout State) -> Set<Int>) {
        let left = state.withLock { state in
            let left = which(&state).intersection(state.attended)
            state.attended.subtract(left)
            for bucket in left { board.leave(bucket) }
            return left
        }
        for bucket in left where board.word(at: bucket).messages > 0 {
            board.ring(at: bucket, Ring())
            board.touch()
        }
    }
}
