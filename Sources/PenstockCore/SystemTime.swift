#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The machine's own clocks.
public struct SystemTime: TimeSource {
    private let bootID: String

    /// Makes a source that reads the machine's clocks. Reads the boot's name once.
    public init() {
        bootID = Self.readBootID()
    }

    /// The wall clock, `CLOCK_REALTIME`.
    public var now: Timestamp {
        Timestamp(microseconds: Self.microseconds(of: CLOCK_REALTIME))
    }

    /// The boot clock: `CLOCK_BOOTTIME` on Linux, `CLOCK_MONOTONIC` on Apple platforms, where that one counts sleep.
    public var boot: BootTime {
        #if canImport(Darwin)
            BootTime(bootID: bootID, microseconds: Self.microseconds(of: CLOCK_MONOTONIC))
        #else
            BootTime(bootID: bootID, microseconds: Self.microseconds(of: CLOCK_BOOTTIME))
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

    private static func readBootID() -> String {
        #if canImport(Darwin)
            var started = timeval()
            var size = MemoryLayout<timeval>.size
            guard sysctlbyname("kern.boottime", &started, &size, nil, 0) == 0 else { return "unknown" }
            return "\(started.tv_sec).\(started.tv_usec)"
        #else
            let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return "unknown" }
            defer { close(descriptor) }
            var bytes = [UInt8](repeating: 0, count: 36)
            let count = read(descriptor, &bytes, bytes.count)
            return count == 36 ? String(decoding: bytes, as: UTF8.self) : "unknown"
        #endif
    }
}
