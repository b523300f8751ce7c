public import DequeModule

/// What a delay holds and until when, as a value: events go in, and what is due comes out of ``next()``, one thing at a
/// time and in the order in which it came.
///
/// It keeps no time. A face asks it for the next moment, waits for that, and says what time it is then: what is due by
/// then is due at once, however much that is. A face that is woken a little before the moment, by its clock's own account, need not
/// care.
@usableFromInline
package struct DelayCore<Element, Moment: Comparable> {
    /// What is due.
    @usableFromInline
    package enum Step {
        case give(Element)
        case finish
    }

    @usableFromInline
    enum Upstream {
        case open
        /// It finished, which is due at the moment.
        case finished(due: Moment)
        /// The finish is due, and is to be said behind everything that is held.
        case finishing
        /// The finish was said, or nobody wants anything any more.
        case over
    }

    @usableFromInline var upstream = Upstream.open
    /// What is held, oldest first, and until when.
    @usableFromInline var held: Deque<(element: Element, due: Moment)> = []
    /// How many of these are due.
    @usableFromInline var dueCount = 0
    /// The moment for which the face waits.
    @usableFromInline var awaited: Moment?

    /// Makes a delay that holds nothing.
    @inlinable package init() {}

    /// Upstream gave an element, which is due at the moment. When upstream has ended already, nobody wants it.
    @inlinable package mutating func arrived(_ element: Element, due: Moment) {
        if case .open = upstream { held.append((element, due)) }
    }

    /// Upstream finished, which is due at the moment.
    @inlinable package mutating func finished(due: Moment) {
        if case .open = upstream { upstream = .finished(due: due) }
    }

    /// Upstream failed, or downstream wants no more: nothing comes out any more.
    ///
    /// - Returns: what was held. As its end may call the operator, it is not to happen inside a lock.
    @inlinable package mutating func close() -> [Element] {
        upstream = .over
        dueCount = 0
        defer { held = [] }
        return held.map(\.element)
    }

    /// Whether nothing more will be due.
    @inlinable package var isTimeless: Bool {
        switch upstream {
        case .open, .finished: false
        case .finishing, .over: true
        }
    }

    /// The moment for which the face is to wait, and then to say that it has come; `nil` when there is none, or the face
    /// was told already.
    @inlinable package mutating func takeMoment() -> Moment? {
        guard awaited == nil else { return nil }
        if dueCount < held.count {
            awaited = held[dueCount].due
        } else if case .finished(let due) = upstream {
            awaited = due
        }
        return awaited
    }

    /// The moment has come: it is as late as `time` by the face's clock, and as late as the moment.
    @inlinable package mutating func came(_ time: Moment) {
        let now = awaited.map { max($0, time) } ?? time
        awaited = nil
        while dueCount < held.count, held[dueCount].due <= now { dueCount += 1 }
        if dueCount == held.count, case .finished(let due) = upstream, due <= now { upstream = .finishing }
    }

    /// The next thing that is due, if there is one.
    @inlinable package mutating func next() -> Step? {
        if dueCount > 0, let (element, _) = held.popFirst() {
            dueCount -= 1
            return .give(element)
        }
        guard case .finishing = upstream else { return nil }
        upstream = .over
        return .finish
    }
}

extension DelayCore: Sendable where Element: Sendable, Moment: Sendable {}
extension DelayCore.Upstream: Sendable where Moment: Sendable {}
extension DelayCore.Step: Sendable where Element: Sendable {}
extension DelayCore.Step: Equatable where Element: Equatable {}
