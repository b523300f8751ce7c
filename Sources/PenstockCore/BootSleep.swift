internal import PenstockCore

extension TimeSource {
    /// Returns when `duration` has passed on the boot clock, which nobody can set.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first.
    func sleep(for duration: Duration) async throws {
        let deadline = boot + duration
        while let left = deadline.left(at: boot) {
            try await sleep(until: now + left)
        }
        try Task.checkCancellation()
    }
}

extension BootTime {
    static func + (moment: BootTime, duration: Duration) -> BootTime {
        let (sum, overflow) = moment.microseconds.addingReportingOverflow(duration.wholeMicroseconds)
        return BootTime(bootID: moment.bootID, microseconds: overflow ? .max : sum)
    }

    /// How long it is from `now` to this moment; `nil` when it has come, or belongs to an earlier boot.
    func left(at now: BootTime) -> Duration? {
        guard bootID == now.bootID, microseconds > now.microseconds else { return nil }
        return .microseconds(microseconds - now.microseconds)
    }
}
