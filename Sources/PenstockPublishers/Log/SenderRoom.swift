internal import DequeModule
internal import Dispatch
internal import PenstockCore
internal import Synchronization

/// Makes threads that send into a log wait while as much is on its way there as may be.
final class SenderRoom: Sendable {
    private struct State {
        var count = 0
        var bytes = 0
        var waiting: Deque<(bytes: Int, turn: DispatchSemaphore)> = []

        var isFull: Bool { count >= Limits.stagedCountMax || bytes >= Limits.stagedBytesMax }

        mutating func take(_ bytes: Int) {
            count += 1
            self.bytes += bytes
        }
    }

    private let state = Mutex(State())

    /// How many threads wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Takes a place for a value of that size, and waits on this thread until there is one. The last one may exceed the
    /// bound.
    func enter(bytes: Int) {
        let turn = state.withLock { state -> DispatchSemaphore? in
            if state.waiting.isEmpty, !state.isFull {
                state.take(bytes)
                return nil
            }
            let turn = DispatchSemaphore(value: 0)
            state.waiting.append((bytes, turn))
            return turn
        }
        guard let turn else { return }
        StreamExecutor.wait { turn.wait() }
    }

    /// Gives the place of a value of that size back.
    func leave(bytes: Int) {
        let turns = state.withLock { state in
            state.count -= 1
            state.bytes -= bytes
            var turns: [DispatchSemaphore] = []
            while !state.isFull, let next = state.waiting.popFirst() {
                state.take(next.bytes)
                turns.append(next.turn)
            }
            return turns
        }
        for turn in turns { turn.signal() }
    }
}
