/// A moment on the boot clock: it counts while the machine sleeps, and nobody can set it.
///
/// Two boot times can only be compared when they come from the same boot, which `bootID` tells.
public struct BootTime: Hashable, Sendable {
    /// Names one start of one machine's kernel.
    public var bootID: String
    /// Microseconds since that start.
    public var microseconds: Int64

    /// Makes the moment `microseconds` after the start that `bootID` names.
    public init(bootID: String, microseconds: Int64) {
        self.bootID = bootID
        self.microseconds = microseconds
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
