internal import Penstock
internal import Synchronization

/// Reads a publisher into a log: once for all subscribers of a shared replay.
///
/// It asks upstream for as many values as may be on their way to the log, and for one more with each that is there.
// Its state is behind a lock.
final class LogSource<Input: Sendable, Failure: Error>: Subscriber, @unchecked Sendable {
    private struct State: UpstreamHolder {
        var upstream = UpstreamSubscription()
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
        await feed.run {
            let ending: LogEnding = await withTaskCancellationHandler {
                await withCheckedContinuation { waiter in
                    let ending = self.state.withLock { state in
                        if state.ending == nil { state.waiter = waiter }
                        return state.ending
                    }
                    if let ending { waiter.resume(returning: ending) }
                }
            } onCancel: {
                self.end(.finished)
            }
            return await self.feed.finish(ending)
        }
    }

    /// Ends it, the first time that it is called, and lets go of upstream.
    func end(_ ending: LogEnding) {
        typealias Left = (waiter: CheckedContinuation<LogEnding, Never>?, upstream: (any Subscription)?)
        let (waiter, upstream) = state.withLock { state -> Left in
            guard state.ending == nil else { return (nil, nil) }
            state.ending = ending
            return (state.waiter.take(), state.upstream.cancel())
        }
        upstream?.cancel()
        waiter?.resume(returning: ending)
    }

    // MARK: Upstream

    func receive(subscription: any Subscription) {
        guard state.withLock({ $0.upstream.begin(subscription) }) else { return subscription.cancel() }
        state.ask(.max(LogFeed<Input>.underWayMax))
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        guard state.withLock({ $0.upstream.isOpen }) else {
            state.cancelForAnother()
            return .none
        }
        do {
            try feed.stage(input) { [weak self] in self?.state.ask(.max(1)) }
        } catch {
            end(.broken(error))
        }
        return .none
    }

    func receive(completion: Subscribers.Completion<Failure>) {
        _ = state.withLock { $0.upstream.end() }
        switch completion {
        case .finished: end(.finished)
        case .failure(let error): end(.failed(error))
        }
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
