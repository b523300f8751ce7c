/// How many elements may wait for a subscriber that is slower than their sender, and what happens then.
///
/// The limit is never below the number of elements that are remembered for newcomers, as these wait for each newcomer.
public struct ReplayBacklog<Failure: Error>: Sendable {
    @usableFromInline package enum WhenFull: Sendable {
        case suspendSender
        case dropOldest
        case end(@Sendable () -> Failure)
        /// The subscriber loses the element that comes.
        case lose
    }

    @usableFromInline package let limit: Int
    @usableFromInline package let whenFull: WhenFull

    @inlinable init(_ limit: Int, _ whenFull: WhenFull) {
        self.limit = limit
        self.whenFull = whenFull
    }

    @inlinable init(atLeastOne limit: Int, _ whenFull: WhenFull) {
        precondition(limit >= 1, "A backlog needs room for at least one element.")
        self.init(limit, whenFull)
    }

    /// How many elements may wait for a subscriber before senders do; `nil`: senders never wait. An upstream is asked for so many ahead.
    @inlinable package var waitsAt: Int? {
        if case .suspendSender = whenFull { limit } else { nil }
    }

    /// Nothing waits: a subscriber gets what it has asked for by then.
    @inlinable static var none: Self { Self(0, .lose) }

    /// Everything waits: nothing is lost, no sender waits, and a subscriber that stays behind costs memory.
    @inlinable public static var unbounded: Self { Self(.max, .dropOldest) }

    /// The sender waits until every subscriber has room: nothing is lost, and the slowest one sets the pace of all.
    ///
    /// A task that sends is suspended. A `ReplaySubject` of PenstockPublishers blocks the thread that sends: never choose it
    /// where that thread is one that subscribers need, as the main thread or one of Swift's tasks.
    @inlinable public static func suspendSender(at limit: Int) -> Self {
        Self(atLeastOne: limit, .suspendSender)
    }

    /// The subscriber loses the element that has waited longest for it. Nobody else is touched.
    @inlinable public static func dropOldest(at limit: Int) -> Self {
        Self(atLeastOne: limit, .dropOldest)
    }

    /// The subscriber gets what waits for it, and then the error that the closure makes. Nobody else is touched.
    @inlinable public static func endSubscriber(at limit: Int, with error: @escaping @Sendable () -> Failure) -> Self {
        Self(atLeastOne: limit, .end(error))
    }
}
