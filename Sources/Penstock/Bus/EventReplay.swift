internal import PenstockCore

/// What a bus keeps.
extension EventBus {
    /// How many events the bus keeps. On a store, as this process has heard last; others may have changed it since.
    ///
    /// It can be set on a bus in memory, to 0 or more: what is beyond a smaller number is gone at once, oldest first. On a
    /// store that takes a transaction, and only ``setBufferLength(_:)`` does it; setting it here ends the program.
    public var bufferLength: Int {
        get {
            switch place {
            case .memory(let buffer): buffer.length
            case .log(let buffer): buffer.length
            }
        }
        set {
            precondition(newValue >= 0, "A bus cannot keep fewer than no events.")
            guard case .memory(let buffer) = place else {
                preconditionFailure("A bus on a store keeps events for all processes; await setBufferLength(_:).")
            }
            buffer.setLength(newValue)
        }
    }

    /// Keeps another number of events from now on. What is beyond a smaller one is gone when this returns, oldest first;
    /// on a store for all processes, and also for subscriptions that have not come to it yet: they count it as missed.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` for a negative number; what the store throws.
    public func setBufferLength(_ length: Int) async throws {
        switch place {
        case .memory(let buffer):
            guard length >= 0 else { throw PenstockError(.invalidInput, "A bus cannot keep fewer than no events.") }
            buffer.setLength(length)
        case .log(let buffer):
            try await buffer.setLength(length)
        }
    }

    /// Hands the last `count` events of a kind to `handler`, one after the other, oldest of those first: events that were
    /// sent before this call, and that the bus still keeps. Returns when it is through.
    ///
    /// ```swift
    /// try await bus.replay(count: 10) { (order: OrderPlaced) in print(order.id) }
    /// ```
    ///
    /// - Parameters:
    ///   - count: how many at most, 0 or more; `nil`: all that the bus keeps. That many are held in memory.
    ///   - handler: is given each event. Its type says which kind.
    /// - Throws: what `handler` throws, which gets no further event then; `PenstockError` with code `invalidInput` for a
    ///   negative number, and for a type whose name another type has; what the store throws; `CancellationError` when the task is cancelled.
    public func replay<Kind: Sendable>(
        count: Int? = nil, _ handler: (Kind) async throws -> Void
    ) async throws {
        if let count, count < 0 {
            throw PenstockError(.invalidInput, "The last \(count) events cannot be replayed; ask for 0 or more.")
        }
        try makeKnown(Kind.self)
        var last: [Kind] = []
        var first = 0
        func take(_ entry: EventRecord) async throws {
            try Task.checkCancellation()
            guard let event = entry.matched(as: Kind.self) else { return }
            guard let count else { return try await handler(event) }
            guard count > 0 else { return }
            if last.count < count {
                last.append(event)
            } else {
                last[first] = event
                first = (first + 1) % count
            }
        }
        switch place {
        case .memory(let buffer): for entry in buffer.kept { try await take(entry) }
        case .log(let buffer): try await buffer.read(take)
        }
        for event in last[first...] + last[..<first] {
            try Task.checkCancellation()
            try await handler(event)
        }
    }

    /// Makes the kind known when it is a type of events.
    ///
    /// - Throws: `invalidInput` when another type has its name, or the name cannot be one: on a store events are found by it.
    func makeKnown<Kind>(_ kind: Kind.Type) throws(PenstockError) {
        guard let type = kind as? any Event.Type else { return }
        do { try types.register(type) } catch {
            if case .log = place { throw error }
        }
    }
}
