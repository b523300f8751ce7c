public import DequeModule

/// What a bounded flatMap decides, as a value: how many elements upstream is asked for, whose value comes next, and when
/// the stream is over.
///
/// A value that downstream has not asked for waits with the name of the inner sequence that gave it. That one gives the
/// next when this one is taken, so at most one of each waits, and an inner sequence has not ended while one of it does.
@usableFromInline
package struct FlatMapCore<Element, Name> {
    @usableFromInline
    enum Upstream: Sendable {
        /// It may be asked for so many elements.
        case open(room: Int)
        case finished
        /// The stream is over.
        case over
    }

    @usableFromInline let maxConcurrent: Int
    @usableFromInline var upstream: Upstream
    /// How many inner sequences have begun and not ended.
    @usableFromInline var runningCount = 0
    /// How many values downstream has asked for and not been given.
    @usableFromInline package var demand = 0
    /// Values that nobody has asked for, as they came.
    @usableFromInline var waiting: Deque<(value: Element, inner: Name)> = []

    /// Makes a stream that may have so many inner sequences at a time, `Int.max` for any number.
    @inlinable package init(maxConcurrent: Int) {
        self.maxConcurrent = maxConcurrent
        upstream = .open(room: maxConcurrent)
    }

    /// Whether inner sequences may still begin.
    @inlinable package var isOpen: Bool {
        if case .open = upstream { true } else { false }
    }

    /// Whether nothing comes any more.
    @inlinable package var isOver: Bool {
        if case .over = upstream { true } else { false }
    }

    // MARK: Upstream

    /// How many elements to ask upstream for now, at most so many.
    @inlinable package mutating func takeAsk(_ max: Int = .max) -> Int {
        guard case .open(let room) = upstream else { return 0 }
        let count = min(room, max)
        upstream = .open(room: room - count)
        return count
    }

    /// Upstream gave an element. Returns whether its inner sequence begins.
    @inlinable package mutating func began() -> Bool {
        guard isOpen else { return false }
        runningCount += 1
        return true
    }

    /// Upstream finished.
    @inlinable package mutating func upstreamFinished() {
        if isOpen { upstream = .finished }
    }

    // MARK: Inner sequences

    /// An inner sequence has a value. Returns whether it is to be given now; otherwise it is to wait.
    @inlinable package mutating func mayGive() -> Bool {
        guard demand > 0 else { return false }
        if demand < .max { demand -= 1 }
        return true
    }

    /// The value waits until downstream asks for it.
    @inlinable package mutating func wait(_ value: Element, of inner: Name) {
        waiting.append((value, inner))
    }

    /// An inner sequence ended, which makes room for another.
    @inlinable package mutating func ended() {
        runningCount -= 1
        // An upstream that was asked for all there is need not be asked for more.
        if case .open(let room) = upstream, maxConcurrent < .max { upstream = .open(room: room + 1) }
    }

    // MARK: Downstream

    /// Downstream asks for so many values more.
    @inlinable package mutating func request(_ count: Int) {
        demand = demand.addingUpToMax(count)
    }

    /// The next value that waits and was asked for. Its inner sequence may go on.
    @inlinable package mutating func next() -> (value: Element, inner: Name)? {
        guard !waiting.isEmpty, mayGive() else { return nil }
        return waiting.popFirst()
    }

    /// Whether the finish is to be said now: once.
    @inlinable package mutating func takeFinish() -> Bool {
        guard case .finished = upstream, runningCount == 0 else { return false }
        upstream = .over
        return true
    }

    /// The stream failed, or downstream wants no more.
    ///
    /// - Returns: what waited. As the end of a value may call the operator, it is not to happen inside a lock.
    @inlinable package mutating func close() -> Deque<(value: Element, inner: Name)> {
        upstream = .over
        defer { waiting = [] }
        return waiting
    }
}

extension FlatMapCore: Sendable where Element: Sendable, Name: Sendable {}
