#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The machine's own clocks.
public struct SystemTime: TimeSource {
    /// Makes a source that reads the machine's clocks.
    public init() {}

    /// The wall clock, `CLOCK_REALTIME`.
    public var now: Timestamp {
        Timestamp(microseconds: Self.microseconds(of: CLOCK_REALTIME))
    }

    /// The boot clock: `CLOCK_BOOTTIME` on Linux, `CLOCK_MONOTONIC_RAW` on Apple platforms, which counts sleep. `CLOCK_MONOTONIC` is
    /// the wall clock less the time of the start there, and is slewed with it.
    ///
    /// Processes give it the same name when they read the same clock: within one boot and, on Linux, one time namespace.
    /// A process that cannot find out which clock it reads gives it a name of its own.
    public var boot: BootTime {
        #if canImport(Darwin)
            BootTime(bootID: ClockName.own, microseconds: Self.microseconds(of: CLOCK_MONOTONIC_RAW))
        #else
            BootTime(bootID: ClockName.own, microseconds: Self.microseconds(of: CLOCK_BOOTTIME))
        #endif
    }

    /// Returns once the wall clock has reached `deadline`, or earlier when a quarter of a minute has passed: a
    /// clock that was set meanwhile is then looked at again by the caller.
    public func sleep(until deadline: Timestamp) async throws {
        let left = min(deadline - now, .seconds(15))
        if left > .zero {
            try await Task.sleep(for: left, tolerance: .zero)
        }
    }

    /// Returns once `duration` has passed. It need not look at a clock meanwhile: nobody sets the one it sleeps by, which
    /// goes on while the machine sleeps.
    public func sleep(for duration: Duration) async throws {
        let deadline = boot + duration
        while let left = deadline.left(at: boot) {
            try await Task.sleep(for: min(left, .seconds(86_400)), tolerance: .zero)
        }
        try Task.checkCancellation()
    }

    private static func microseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
