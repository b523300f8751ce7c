/// Where a store and its users take the time from. It is handed in, so that tests hold the hands of the clock.
public protocol TimeSource: Sendable {
    /// The wall clock.
    var now: Timestamp { get }

    /// The boot clock, by which leases are judged.
    var boot: BootTime { get }

    /// Returns once `now` has reached `deadline`, or throws `CancellationError` when the task is cancelled.
    ///
    /// A source may return early after the wall clock was set; callers look at the time again.
    func sleep(until deadline: Timestamp) async throws

    /// Returns once `duration` has passed on the boot clock, which nobody can set, or throws `CancellationError` when the
    /// task is cancelled. There is one that sleeps by the wall clock and looks at the boot clock.
    func sleep(for duration: Duration) async throws
}

/// Where tokens and jitter come from. It is handed in, so that a test can repeat what it saw.
public protocol RandomSource: Sendable {
    /// The next 64 random bits.
    func next() -> UInt64
}

extension RandomSource {
    /// The next random number in `0..<1`, with 53 bits.
    public func nextUnit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }
}

extension TimeSource {
    /// Sleeps by the wall clock, and again for as long as the boot clock says that it was not enough.
    public func sleep(for duration: Duration) async throws {
        let deadline = boot + duration
        while let left = deadline.left(at: boot) { try await sleep(until: now + left) }
        try Task.checkCancellation()
    }
}
