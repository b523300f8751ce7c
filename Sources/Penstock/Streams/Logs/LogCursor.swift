internal import PenstockCore
internal import Synchronization

/// Reads a log on behalf of one subscription: its own pages while it is behind, and what all share while it keeps up.
/// Holds a page at most. The copies of an iterator share it.
final class LogCursor<Value: Sendable> {
    private enum Phase {
        case fresh
        /// Another reader was first, and this one gets nothing.
        case taken
        case beginning
        case behind
        case keepingUp
        case over
    }

    let subscription: LogSubscription<Value>
    /// Told how many messages retention forgot before the subscription came to them, each time that it finds some.
    private let onMissed: @Sendable (Int) -> Void
    private var phase = Phase.fresh
    private var place = LogPlace(sequence: SequenceNumber(0), ordinal: 0)
    /// What was read together, of which the values up to `taken` are taken.
    private var items: ArraySlice<LogItem<Value>> = []
    private var taken = 0
    private let isFetching = Atomic(false)

    init(_ subscription: LogSubscription<Value>, onMissed: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.subscription = subscription
        self.onMissed = onMissed
    }

    /// Whether the next value would have to be waited for, as far as is known.
    var isEmpty: Bool { taken == items.endIndex }

    /// The next value that is there already; none when the subscription is cancelled.
    func takeNext() -> LogItem<Value>? {
        if isEmpty || subscription.isOver { return nil }
        defer { taken += 1 }
        return items[taken]
    }

    /// The next value, once there is one; `nil` after the last, and when the subscription or the task is cancelled.
    func next(isolation: isolated (any Actor)? = #isolation) async throws -> LogItem<Value>? {
        guard try await fill(isolation: isolation) else { return nil }
        return takeNext()
    }

    /// Returns once there are values to take; false after the last, and when the subscription or the task is cancelled.
    func fill(isolation: isolated (any Actor)? = #isolation) async throws -> Bool {
        if case .fresh = phase { phase = subscription.take() ? .beginning : .taken }
        if case .taken = phase { return false }
        // Also with a page in hand: it may be hundreds of values, each worked for long.
        if Task.isCancelled || subscription.isOver { hold([]) }
        if !isEmpty { return true }
        let isAlone = !isFetching.exchange(true, ordering: .acquiring)
        precondition(isAlone, "next() was called while another call of it was under way.")
        defer { isFetching.store(false, ordering: .releasing) }
        do {
            while isEmpty {
                if Task.isCancelled || subscription.isOver { phase = .over }
                guard try await fetch(isolation: isolation) else {
                    await end(isolation: isolation)
                    return false
                }
            }
            return true
        } catch {
            let isCancelled = Task.isCancelled || subscription.isOver || error is CancellationError
            await end(isolation: isolation)
            if isCancelled { return false }
            throw error
        }
    }

    /// Lets go of everything after this value: the subscription goes on behind it.
    func skip(to sequence: SequenceNumber) {
        while !isEmpty, items[taken].sequence <= sequence { taken += 1 }
    }

    /// All values that are there already.
    func takeAll() -> ArraySlice<LogItem<Value>> {
        defer { hold([]) }
        return items[taken...]
    }

    /// Keeps what was read, to be taken.
    private func hold(_ items: ArraySlice<LogItem<Value>>) {
        self.items = items
        taken = items.startIndex
    }

    /// Ends the subscription: nothing comes of it any more.
    func end(isolation: isolated (any Actor)?) async {
        phase = .over
        hold([])
        subscription.cancel()
        await subscription.hub.waitForRest(isolation: isolation)
    }

    /// - Returns: whether there may be more.
    private func fetch(isolation: isolated (any Actor)?) async throws -> Bool {
        switch phase {
        case .beginning:
            guard let beginning = try await subscription.begin() else { return false }
            place = beginning.place
            phase = .behind
            if let page = beginning.page {
                if page.isAtEnd { phase = .keepingUp }
                if let decode = subscription.hub.access?.decode { take(page.stretch(from: place, decode: decode)) }
            }
            subscription.join(at: beginning.end)
        case .behind:
            guard let access = subscription.hub.access else { return takeFromMemory() }
            let stretch = try await access.read(from: place).stretch
            take(stretch)
            phase = stretch.isAtEnd ? .keepingUp : .behind
        case .keepingUp:
            guard let name = subscription.name else { return false }
            switch await subscription.hub.next(of: name, after: place.sequence, isolation: isolation) {
            case .items(let items): take(items)
            case .behind: phase = .behind
            case .end(let failure):
                if let failure { throw failure }
                return false
            }
        case .fresh, .taken, .over:
            return false
        }
        return true
    }

    private func take(_ stretch: LogStretch<Value>) {
        hold(stretch.items[...])
        place = stretch.reach
        if stretch.missed > 0 { onMissed(stretch.missed) }
    }

    private func take(_ items: ArraySlice<LogItem<Value>>) {
        guard let first = items.first, let last = items.last else { return }
        hold(items)
        let missed = first.ordinal - place.ordinal - 1
        // Where two readers counted at different moments, the difference may come out late, but never twice.
        place = LogPlace(sequence: last.sequence, ordinal: max(last.ordinal, place.ordinal + items.count))
        if missed > 0 { onMissed(missed) }
    }

    /// In memory what is no longer in the tail is gone.
    private func takeFromMemory() -> Bool {
        guard let base = subscription.hub.tail?.base else { return false }
        let missed = base.ordinal - place.ordinal
        place = LogPlace(sequence: max(base.sequence, place.sequence), ordinal: max(base.ordinal, place.ordinal))
        phase = .keepingUp
        if missed > 0 { onMissed(missed) }
        return true
    }
}
