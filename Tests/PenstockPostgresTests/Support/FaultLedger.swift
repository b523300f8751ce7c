import PenstockCore
import Synchronization
import Testing

/// What callers were told while servers were harmed, to hold against what is there at the end.
final class FaultLedger: Sendable {
    struct State {
        /// By payload, with the durability that was asked for.
        var receipts: [String: Receipt] = [:]
        /// How many of them say `powerLoss`.
        var flushedCount = 0
        /// Payloads of which nobody knows, and those of calls that ended with another error.
        var unknown: Set<String> = []
        var refused: Set<String> = []
        /// How often each was given to a worker, and which had their verdict accepted.
        var worked: [String: Int] = [:]
        var settled: Set<String> = []
        var failures: [String: Int] = [:]
        var slowestCall = Duration.zero
    }

    private struct Waiter {
        let isOver: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private let state = Mutex((state: State(), waiters: [Waiter]()))

    var now: State { state.withLock { $0.state } }

    func note(_ change: (inout State) -> Void) {
        let woken = state.withLock { all in
            change(&all.state)
            let now = all.state
            let woken = all.waiters.filter { $0.isOver(now) }
            all.waiters.removeAll { $0.isOver(now) }
            return woken
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    /// Returns when it says so.
    func wait(until isOver: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isOverNow = state.withLock { all in
                if isOver(all.state) { return true }
                all.waiters.append(Waiter(isOver: isOver, continuation: continuation))
                return false
            }
            if isOverNow { continuation.resume() }
        }
    }

    /// Returns when so many more receipts were given.
    func waitForReceipts(_ count: Int) async {
        let target = now.receipts.count + count
        await wait { $0.receipts.count >= target }
    }

    func note(_ error: any Error) {
        let word = (error as? PenstockError).map { "\($0.code.rawValue): \($0.message)" } ?? "\(error)"
        note { $0.failures[word, default: 0] += 1 }
    }

    func noteCall(since start: ContinuousClock.Instant) {
        let time = ContinuousClock.now - start
        note { $0.slowestCall = max($0.slowestCall, time) }
    }
}
