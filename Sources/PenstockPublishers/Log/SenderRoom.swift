internal import DequeModule
internal import Dispatch
internal import PenstockCore
internal import Synchronization

/// Makes threads that send into a log wait while as much is on its way there as may be.
final class SenderRoom: Sendable {
    private struct State {
        var count = 0
        var bytes = 0
        var waiting: Deque<DispatchSemaphore> = []

        var isFull: Bool { count >= Limits.stagedCountMax || bytes >= Limits.stagedBytesMax }
    }

    private let state = Mutex(State())

    /// How many threads wait.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Takes a place for a value, and waits on this thread until there is one.
    func enter() {
        let turn = state.withLock { state -> DispatchSemaphore? in
            if state.waiting.isEmpty, !state.isFull {
                state.count += 1
                return nil
            }
            let turn = DispatchSemaphore(value: 0)
            state.waiting.append(turn)
            return turn
        }
        guard let turn else { return }
        StreamExecutor.wait { turn.wait() }
    }

    /// Says how large the value is for which a place was taken. How large one is turns out when it has its place, so the last one may
    /// exceed the bound.
    func add(bytes: Int) {
        state.withLock { $0.bytes += bytes }
    }

    /// Gives the place of a value of that size back.
    func leave(bytes: Int) {
        let turns = state.withLock { state in
            state.count -= 1
            state.bytes -= bytes
            var turns: [DispatchSemaphore] = []
            while !state.isFull, let turn = state.waiting.popFirst() {
                state.count += 1
                turns.append(turn)
            }
            return turns
        }
        for turn in turns { turn.signal() }
    }
}
