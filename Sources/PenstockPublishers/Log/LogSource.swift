internal import Penstock
internal import Synchronization

/// Reads a publisher into a log: once for all subscribers of a shared replay.
///
/// It asks upstream for as many values as may be on their way to the log, and for one more with each that is there.
// Its state is behind a lock.
final class LogSource<Input: Sendable, Failure: Error>: Subscriber, @unchecked Sendable {
    private enum Phase {
        case new
        case open(any Subscription)
        case over
    }

    private struct State {
        var phase = Phase.new
        var ending: LogEnding?
        var waiter: CheckedContinuation<LogEnding, Never>?
    }

    private let feed: LogFeed<Input>
    private let state = Guarded(State())

    init(_ feed: LogFeed<Input>) {
        self.feed = feed
    }

    // MARK: The log

    /// Returns how upstream came to its end, when everything that it gave is in the log; or as soon as something could
    /// not be written, or the task is cancelled.
    func run() async -> LogEnding {
        await withTaskCancellationHandler {
            await withTaskGroup(of: LogEnding?.self) { group in
                group.addTask {
                    guard let failure = await self.feed.failure() else { return nil }
                    // The other one waits for an end.
                    self.end(.broken(failure))
                    return .broken(failure)
                }
                group.addTask { await self.readToTheEnd() }
                defer { group.cancelAll() }
                let first: LogEnding? = await group.next() ?? nil
                return first ?? .finished
            }
        } onCancel: {
            self.end(.finished)
        }
    }

    private func readToTheEnd() async -> LogEnding {
        let ending = await withCheckedContinuation { waiter in
            let ending = state.withLock { state in
                if state.ending == nil { state.waiter = waiter }
                return state.ending
            }
            if let ending { waiter.resume(returning: ending) }
        }
        do {
            try await feed.finish()
            return ending
        } catch {
            return .broken(error)
        }
    }

    /// Ends it, the first time that it is called, and lets go of upstream.
    func end(_ ending: LogEnding) {
        let (waiter, phase) = state.withLock { state in
            guard state.ending == nil else { return (nil as CheckedContinuation<LogEnding, Never>?, Phase.over) }
            state.ending = ending
            let phase = state.phase
            state.phase = .over
            return (state.waiter.take(), phase)
        }
        if case .open(let subscription) = phase { subscription.cancel() }
        waiter?.resume(returning: ending)
    }

    // MARK: Upstream

    func receive(subscription: any Subscription) {
        let isWanted = state.withLock { state in
            guard case .new = state.phase else { return false }
            state.phase = .open(subscription)
            return true
        }
        guard isWanted else { return subscription.cancel() }
        subscription.request(.max(LogFeed<Input>.underWayMax))
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        guard case .open = state.withLock({ $0.phase }) else { return .none }
        do {
            try feed.stage(input) { [weak self] in self?.ask() }
        } catch {
            end(.broken(error))
        }
        return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        state.withLock { $0.phase = .over }
        switch completion {
        case .finished: end(.finished)
        case .failure(let error): end(.failed(error))
        }
    }

    private func ask() {
        guard case .open(let subscription) = state.withLock({ $0.phase }) else { return }
        subscription.request(.max(1))
    }
}

/// Subscribes sources to a publisher.
// A publisher of Combine may be subscribed to from any thread.
struct LogUpstream<Output: Sendable, Failure: Error>: @unchecked Sendable {
    let subscribe: (LogSource<Output, Failure>) -> Void

    /// Subscribes on the thread of the first subscriber, which may be the one that sends next.
    func inflow(into feed: LogFeed<Output>) -> LogInflow {
        let source = LogSource<Output, Failure>(feed)
        return LogInflow(
            begin: { subscribe(source) }, cancel: { source.end(.finished) }, run: { await source.run() })
    }
}
