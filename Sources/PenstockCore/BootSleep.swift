extension TimeSource {
    /// Sleeps by the wall clock, and again for as long as the boot clock says that it was not enough.
    public func sleep(for duration: Duration) async throws {
        let deadline = boot + duration
        while let left = deadline.left(at: boot) {
            try await sleep(until: now + left)
        }
        try Task.checkCancellation()
    }
}

extension BootTime {
    package static func + (moment: BootTime, duration: Duration) -> BootTime {
        let (sum, overflow) = moment.microseconds.addingReportingOverflow(duration.wholeMicroseconds)
        return BootTime(bootID: moment.bootID, microseconds: overflow ? .max : sum)
    }

    /// How long it is from `now` to this moment; `nil` when it has come, or belongs to an earlier boot.
    package func left(at now: BootTime) -> Duration? {
        guard bootID == now.bootID, microseconds > now.microseconds else { return nil }
        return .microseconds(microseconds - now.microseconds)
    }
}
