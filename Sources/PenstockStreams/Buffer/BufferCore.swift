public import DequeModule

/// What a buffer does with values and demand, as a value. Events go in; what is to be said comes out of ``next(giving:)``,
/// one thing at a time, and what is to be asked of upstream out of ``takeAsk()``.
///
/// All values stand in one line. The first of them, as many as downstream has asked for, are promised: they are
/// downstream's, though nobody has said them yet. Only the others wait, and count for the size.
///
/// With `keepFull` upstream is asked for as many values as would be asked for one by one until one overflows: the demand,
/// the free places, and one more. So a source that sends several at once is taken at its word, and the pause begins at
/// the same value.
@usableFromInline
package struct BufferCore<Element, Failure: Error> {
    /// What is to be said.
    @usableFromInline
    package enum Step {
        case give(Element)
        /// The value was discarded: tell the one that counts these.
        case discard(Element)
        /// The value was discarded, and for that the stream is to fail.
        case overflow(Element)
        case end(Completion<Failure>)
    }

    /// What a full buffer does.
    @usableFromInline
    package enum WhenFull: Sendable {
        case dropNewest, dropOldest, fail
    }

    @usableFromInline
    enum Upstream {
        /// It was asked for so many values that it has not given, or is to be asked for the last `toAsk` of these.
        case open(owed: Int, toAsk: Int)
        /// It ended so, which is to be said behind what is promised, or behind all that waits.
        case ended(Completion<Failure>)
        /// A value found no place, for which the stream is to fail.
        case overflowed(Element)
        /// The end was said, or nobody listens any more.
        case over
    }

    @usableFromInline let size: Int
    @usableFromInline let prefetch: BufferPrefetch
    @usableFromInline let whenFull: WhenFull
    @usableFromInline var upstream = Upstream.open(owed: 0, toAsk: 0)
    /// How many values downstream has asked for and not been given.
    @usableFromInline package var demand = 0
    /// What is promised, and behind it what waits, oldest first.
    @usableFromInline var line: Deque<Element> = []
    /// What was discarded and is to be told.
    @usableFromInline var discarded: Deque<Element> = []

    /// Makes a buffer that nothing was asked of.
    @inlinable package init(size: Int, prefetch: BufferPrefetch, whenFull: WhenFull) {
        self.size = size
        self.prefetch = prefetch
        self.whenFull = whenFull
    }

    /// Whether a value waits that nobody has asked for.
    @inlinable package var hasWaiting: Bool { line.count > demand }

    /// Whether a value is there that was asked for.
    @inlinable package var hasPromised: Bool { demand > 0 && !line.isEmpty }

    /// Whether upstream owes a value.
    @inlinable package var isOwed: Bool {
        guard case .open(let owed, _) = upstream else { return false }
        return owed > 0
    }

    /// Downstream asks for values.
    @inlinable package mutating func request(_ count: Int) {
        demand = demand.addingUpToMax(count)
        guard case .open(let owed, let toAsk) = upstream else { return }
        let room =
            prefetch == .byRequest || demand == .max ? Int.max : (demand - line.count + 1).addingUpToMax(size)
        guard room > owed else { return }
        upstream = .open(owed: room, toAsk: toAsk.addingUpToMax(room - owed))
    }

    /// Upstream gave a value.
    @inlinable package mutating func arrived(_ value: Element) {
        guard case .open(let owed, let toAsk) = upstream else { return }
        if owed > 0, owed < .max { upstream = .open(owed: owed - 1, toAsk: toAsk) }
        if line.count < demand || line.count - demand < size { return line.append(value) }
        switch whenFull {
        case .dropOldest where size > 0:
            discarded.append(line.remove(at: demand))
            line.append(value)
        case .dropNewest, .dropOldest:
            discarded.append(value)
        case .fail:
            upstream = .overflowed(value)
        }
    }

    /// Upstream ended. After a failure nothing more comes but what is promised.
    ///
    /// - Returns: what waited and is let go. As its end may call the operator, it is not to happen inside a lock.
    @inlinable package mutating func ended(_ completion: Completion<Failure>) -> [Element] {
        switch upstream {
        case .open: upstream = .ended(completion)
        case .overflowed, .over: break
        case .ended: return []
        }
        if case .finished = completion { return [] }
        return forgetWaiting()
    }

    /// Downstream wants no more.
    ///
    /// - Returns: what is let go, as of ``ended(_:)``.
    @inlinable package mutating func cancelled() -> [Element] {
        upstream = .over
        demand = 0
        return forgetWaiting()
    }

    /// The next thing to say, if there is one.
    ///
    /// - Parameter giving: whether downstream is there to be given a value that it has asked for.
    @inlinable package mutating func next(giving: Bool = true) -> Step? {
        if let value = discarded.popFirst() { return .discard(value) }
        if giving, demand > 0, let value = line.popFirst() {
            if demand < .max { demand -= 1 }
            return .give(value)
        }
        switch upstream {
        case .ended(let completion):
            guard line.isEmpty else { return nil }
            upstream = .over
            return .end(completion)
        case .overflowed(let value):
            upstream = .over
            return .overflow(value)
        case .open, .over:
            return nil
        }
    }

    /// How many values to ask upstream for now: the caller asks.
    @inlinable package mutating func takeAsk() -> Int {
        guard case .open(let owed, let toAsk) = upstream else { return 0 }
        upstream = .open(owed: owed, toAsk: 0)
        return toAsk
    }

    @inlinable mutating func forgetWaiting() -> [Element] {
        guard hasWaiting else { return [] }
        defer { line.removeLast(line.count - demand) }
        return Array(line[demand...])
    }
}

extension BufferCore: Sendable where Element: Sendable {}
extension BufferCore.Step: Sendable where Element: Sendable {}
extension BufferCore.Step: Equatable where Element: Equatable, Failure: Equatable {}
extension BufferCore.Upstream: Sendable where Element: Sendable {}
