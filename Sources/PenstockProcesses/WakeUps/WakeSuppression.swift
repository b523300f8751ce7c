package import PenstockCore
import Synchronization

/// The buckets of the board at which this process hears without being woken, as a worker of its own that has room is at
/// work there.
///
/// Under load it would cost more to wake a worker for each message than to work it, and several processes would each
/// be woken for a little. So the first process that has room says on the board that it attends the bucket. For a few
/// milliseconds at a time a process that commits there wakes no other, the watchers of other processes leave the messages
/// to it, and their workers hand in without taking up more. It ends at once when its worker has no room left.
///
/// A process that dies leaves a word that runs out; what was announced meanwhile is found at the next look.
package final class WakeSuppression: Sendable {
    private struct State {
        var buckets: Set<Int> = []
        /// Until when a worker counts as at work with room left, from its last sign, and its queue's tag.
        var signs: [Int: (end: BootTime, tag: UInt16)] = [:]
    }

    private let board: DoorbellBoard
    private let time: any TimeSource
    private let state = Mutex(State())

    /// - Parameter time: a clock that all processes share.
    package init(_ board: DoorbellBoard, time: any TimeSource) {
        self.board = board
        self.time = time
    }

    /// Where this process attends.
    package var buckets: Set<Int> { state.withLock { $0.buckets } }

    /// The tag of the queue for which anybody attends `bucket`. It needs no ring.
    package func tag(at bucket: Int) -> UInt16? { board.attendedTag(at: bucket, now: time.boot) }

    /// Whether another process attends `bucket`, which then has what is announced there: for whichever queue, or for the
    /// one with that tag.
    package func isOthers(_ bucket: Int, tag: UInt16? = nil) -> Bool {
        guard let attended = self.tag(at: bucket), attended == tag ?? attended else { return false }
        return !state.withLock { $0.buckets.contains(bucket) }
    }

    /// A ring was heard for which workers here can take `room` messages and have taken `count`; those that are at work
    /// have said so when they claimed.
    package func hear(at bucket: Int, room: Int, taken count: Int) {
        let now = time.boot
        state.withLock { state in
            // A message now and then is not worth it: a worker has to be at work already.
            guard let sign = state.signs[bucket], room == 0 || count < room else { return }
            if sign.end.left(at: now) != nil {
                state.buckets.insert(bucket)
                board.attend(bucket, until: sign.end, tag: sign.tag)
            }
            if count > 0 { self.sign(at: bucket, sign.tag, now, &state) }
        }
    }

    /// A worker here has claimed less than it could take.
    package func claim(at bucket: Int, tag: UInt16) {
        let now = time.boot
        state.withLock { sign(at: bucket, tag, now, &$0) }
    }

    private func sign(at bucket: Int, _ tag: UInt16, _ now: BootTime, _ state: inout State) {
        let end = now + DoorbellBoard.attendanceMax
        state.signs[bucket] = (end, tag)
        if state.buckets.contains(bucket) { board.attend(bucket, until: end, tag: tag) }
    }

    /// Ends the attendance at `bucket`: a worker here has claimed all that it can take.
    ///
    /// - Returns: whether it has attended. What was announced until now may have woken nobody.
    package func leave(_ bucket: Int) -> Bool {
        state.withLock { state in
            state.signs[bucket] = nil
            guard state.buckets.remove(bucket) != nil else { return false }
            board.leave(bucket)
            return true
        }
    }

    /// Ends the attendance where no worker has given a sign for a while.
    ///
    /// - Returns: where that is. What was announced there until now may have woken nobody.
    package func leaveQuiet() -> [Int] {
        let now = time.boot
        return state.withLock { state in
            let quiet = state.buckets.filter { state.signs[$0]?.end.left(at: now) == nil }
            state.buckets.subtract(quiet)
            for bucket in quiet { board.leave(bucket) }
            return Array(quiet)
        }
    }
}
