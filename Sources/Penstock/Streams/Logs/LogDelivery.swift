internal import PenstockStreams
internal import Synchronization

/// One subscription to a log by a subscriber that is told of values instead of coming for them. Letting it go cancels it.
///
/// `request` and `cancel` may be called from any thread at any time, also from within what it calls. It calls one thing
/// at a time, and nothing after a `cancel` that came before the call.
package final class LogDelivery: Sendable {
    private final class Demand: Sendable {
        private struct State {
            var count = 0
            var isOver = false
            var waiting: CheckedContinuation<Bool, Never>?
        }

        private let state = Mutex(State())

        var isOver: Bool { state.withLock { $0.isOver } }

        func add(_ count: Int) {
            let waiting = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                state.count = state.count.addingUpToMax(count)
                guard state.count > 0, let waiting = state.waiting.take() else { return nil }
                if state.count < .max { state.count -= 1 }
                return waiting
            }
            waiting?.resume(returning: true)
        }

        /// Takes one of what was requested, once something was. Returns false when it is over.
        func take() async -> Bool {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Bool? in
                    if state.isOver { return false }
                    if state.count > 0 {
                        if state.count < .max { state.count -= 1 }
                        return true
                    }
                    state.waiting = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        }

        func end() {
            let waiting = state.withLock { state in
                state.isOver = true
                return state.waiting.take()
            }
            waiting?.resume(returning: false)
        }
    }

    /// Takes its place among the log's subscribers: what feeds the log begins with the first one, before this returns.
    package let begin: @Sendable () -> Void

    private let demand = Demand()
    private let cancelSubscription: @Sendable () -> Void
    private let task: Task<Void, Never>

    init<Element: Sendable>(
        _ cursor: sending LogCursor<Element>, receive: @escaping @Sendable (Element) -> Void,
        complete: @escaping @Sendable ((any Error)?) -> Void
    ) {
        begin = { [subscription = cursor.subscription] in subscription.join(at: nil) }
        cancelSubscription = { [subscription = cursor.subscription] in subscription.cancel() }
        task = Task { [demand] in
            do {
                // The end needs no demand: it is looked for behind each value.
                while let element = try await cursor.next()?.value.get() {
                    guard await demand.take(), !demand.isOver else { return }
                    receive(element)
                }
                if !demand.isOver { complete(nil) }
            } catch {
                if !demand.isOver { complete(error) }
            }
        }
    }

    deinit {
        cancel()
    }

    /// Asks for so many values more; `.max` is without limit.
    package func request(_ count: Int) {
        demand.add(count)
    }

    package func cancel() {
        demand.end()
        cancelSubscription()
        task.cancel()
    }

    /// Returns when nothing runs for the subscription any more. For tests.
    package func waitForEnd() async {
        await task.value
    }
}
