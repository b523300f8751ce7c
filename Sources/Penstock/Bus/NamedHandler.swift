internal import PenstockCore

extension EventBus {
    /// Subscribes to a kind of events under a name with a handler, which gets one after the other. As
    /// ``subscribe(_:named:)``, with the settling done:
    ///
    /// - An event is settled when the handler returns.
    /// - When it throws, it gets the event again by the retry policy of the bus's queue (`RetryPolicy`), or after the
    ///   delay that a ``RetryAfter`` asks for; later events wait for it. When it has thrown as often as the policy
    ///   allows, or has thrown a ``Reject``, the subscription goes on without the event, the cursor counts it as missed,
    ///   and `onFailure` is told (`gaveUp`). Where another process has settled it meanwhile, it is not missed, and
    ///   `onFailure` is told of what the handler threw (`handler`). Attempts count anew after a restart.
    /// - An event that a handler was working on when the subscription or the process ended is not settled.
    /// - When the store fails, the subscription ends, and `onFailure` is told; subscribe again to go on.
    ///
    /// - Returns: the token. Letting it go ends the subscription; its place stays on record.
    public func subscribe<Kind: Sendable>(
        _ kind: Kind.Type = Kind.self, named name: String,
        handler: @escaping @Sendable (Kind) async throws -> Void
    ) -> EventSubscription {
        let events = subscribe(kind, named: name)
        let work = NamedHandler(failures: failures, buffer: try? logBuffer(), events: events, handler: handler)
        return EventSubscription({ events.cancel() }, Task { await work.run() })
    }
}

/// Hands the events of a named subscription to a handler, and settles them.
private struct NamedHandler<Kind: Sendable>: Sendable {
    let failures: EventFailures
    let buffer: LogBuffer?
    let events: NamedEventSequence<Kind>
    let handler: @Sendable (Kind) async throws -> Void

    func run() async {
        do {
            for try await event in events { try await work(event) }
        } catch {
            // The token may be held for long yet, and nobody takes what is read for it.
            events.cancel()
            if !Task.isCancelled { failures.report(.subscription, nil, nil, error) }
        }
    }

    /// Hands one event over until it is settled.
    private func work(_ event: NamedEvent<Kind>) async throws {
        var attempt = 0
        while true {
            do {
                attempt += 1
                try await handler(event.event)
            } catch {
                try Task.checkCancellation()
                guard let delay = try await delay(after: error, attempt) else {
                    // Where another process has settled it, nothing is passed over. A store that does not say so says it below.
                    let isSettled = (try? await event.settled.isOnRecord(event.sequence)) == true
                    report(isSettled ? .handler : .gaveUp, event, error)
                    return try await event.settled.advance(to: event.sequence, missed: 1)
                }
                report(.handler, event, error)
                try await buffer?.queue.handle.time.sleep(for: delay)
                continue
            }
            // What was done is settled also when the subscription was cancelled meanwhile.
            return try await event.settle()
        }
    }

    /// When to try again after a failed attempt; `nil`: not at all.
    private func delay(after error: any Error, _ attempt: Int) async throws -> Duration? {
        guard let buffer, !(error is Reject) else { return nil }
        let retry = try await buffer.queue.status().policy.retry
        if attempt >= retry.attemptsMax { return nil }
        if let asked = error as? RetryAfter { return asked.delay }
        return retry.delay(afterAttempt: attempt, random: buffer.queue.handle.random.nextUnit())
    }

    private func report(_ kind: EventBusFailure.Kind, _ event: NamedEvent<Kind>, _ error: any Error) {
        let name = (event.event as? any Event).map { type(of: $0).eventName }
        failures.report(kind, name, event.sequence, error)
    }
}
