/// More time for a lease, what its worker says of its progress, or only the question how it stands.
public struct LeaseExtension: Hashable, Sendable {
    /// What the worker holds.
    public var lease: Lease
    /// How long from now the lease is to last; `nil`: its end stays as it is.
    public var duration: Duration?
    /// Whether a lease that lasts longer than that stays as it is. So the extension may be asked for twice, and may come late.
    public var keepsLonger: Bool
    /// How far the work on the message has come; `nil`: what was said before stays.
    public var progress: MessageProgress?

    /// Makes an extension.
    ///
    /// - Parameters:
    ///   - lease: what the worker holds.
    ///   - duration: how long from now it is to last; `nil`: as long as it does.
    ///   - keepsLonger: whether a lease that lasts longer than that stays as it is.
    ///   - progress: how far the work on the message has come; `nil`: nothing is said of that.
    public init(
        _ lease: Lease, by duration: Duration? = nil, keepsLonger: Bool = false, progress: MessageProgress? = nil
    ) {
        self.lease = lease
        self.duration = duration
        self.keepsLonger = keepsLonger
        self.progress = progress
    }

    /// Throws ``PenstockError`` with code `invalidInput` when no lease may be that long, or the progress cannot be.
    package func validate() throws(PenstockError) {
        if let duration { try Lease.validate(duration) }
        try progress?.validate()
    }

    /// Whether a store has to write something for it.
    package var changesSomething: Bool { duration != nil || progress != nil }
}

/// How a lease stands.
public enum LeaseStanding: Hashable, Sendable {
    /// The worker holds it.
    case held
    /// The worker holds it, and is asked to end: somebody wants the message cancelled.
    case cancelRequested
    /// The message was taken back, cancelled or settled before, and may be with another worker.
    case lost

    /// Whether the worker holds it.
    public var isHeld: Bool { self != .lost }
}
