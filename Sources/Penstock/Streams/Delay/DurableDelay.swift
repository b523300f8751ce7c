extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Gives each value, and the finish, the interval after it came. What waits for its time are messages of a queue, so
    /// a delay that was running goes on after a restart with what was left of it.
    ///
    /// It does as `delay(for:holding:tolerance:clock:)` does in memory. Beyond that:
    ///
    /// - It hands on deliveries, in the order in which they are due. `flatMap(maxConcurrent:_:)` directly behind it gives
    ///   its closure the values and settles by itself; a program that reads it otherwise settles each delivery.
    /// - A value's due time is in its message, by the store's wall clock.
    /// - The queue's capacity is `heldMax`, and its policy `wait`: they are set when an iteration begins. When so many are
    ///   held, upstream waits.
    /// - A new iteration gives everything that an earlier one left when it is due, and what was handed out and not
    ///   settled at once.
    /// - Finishes the interval after upstream did, when no message of the queue waits and every delivery is settled.
    /// - Fails as soon as upstream or the store does. Values that are held stay in the queue.
    ///
    /// ```swift
    /// for try await delivery in reminders.delay(for: .seconds(3600), in: queue) { … }
    /// ```
    ///
    /// - Parameters:
    ///   - interval: how much later, 0 to `Limits.delayMax`.
    ///   - heldMax: how many values may be held at once, within `Limits.capacityRange`.
    ///   - queue: where values wait.
    ///   - lease: how long a delivery's lease lasts unless it is extended, within `Limits.leaseRange`.
    ///
    /// The iterator throws `invalidInput` when a number is out of its range.
    public func delay(
        for interval: Duration,
        holding heldMax: Int = 10_000,
        in queue: Queue<Element>,
        lease: Duration = .seconds(30)
    ) -> DurableBufferSequence<Self> {
        DurableBufferSequence(
            base: self, queue: queue,
            options: .init(size: heldMax, prefetch: .keepFull, whenFull: .wait, lease: lease, delay: interval))
    }
}
