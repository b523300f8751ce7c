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

extension BootTime {
    package static func + (moment: BootTime, duration: Duration) -> BootTime {
        BootTime(bootID: moment.bootID, microseconds: moment.microseconds.addingClamped(duration.wholeMicroseconds))
    }

    /// How long it is from `now` to this moment; `nil` when it has come, or belongs to an earlier boot.
    package func left(at now: BootTime) -> Duration? {
        guard bootID == now.bootID, microseconds > now.microseconds else { return nil }
        return .microseconds(microseconds - now.microseconds)
    }

    /// Where the wall clock stands at this moment, or stood, while nobody sets it: `boot` and `now` are what both clocks show. `nil` when it
    /// is a moment of another boot.
    package func wall(at boot: BootTime, _ now: Timestamp) -> Timestamp? {
        guard bootID == boot.bootID else { return nil }
        return now + .microseconds(microseconds.subtractingClamped(boot.microseconds))
    }

    /// Whether less than `interval` has passed since this moment. Where it is a server's clock, one that was set back has less than nothing
    /// pass: that is not recent, or nobody would look for as long as it was set back.
    package func isRecent(at now: BootTime, within interval: Duration) -> Bool {
        let passed = now.microseconds - microseconds
        return bootID == now.bootID && passed >= 0 && passed < interval.wholeMicroseconds
    }
}
