import ArgumentParser
import Penstock

/// A queue's policy, one option for each number.
struct PolicyOptions: ParsableArguments {
    @Option(
        help: .init("How many messages may wait, or none for no bound.", valueName: "count"),
        transform: Values.countOrNone)
    var capacity: OrNone<Int>?

    @Option(
        help: .init(
            "What a full queue does with one more: drop-newest, drop-oldest, fail or wait. \(Self.whenFullDefault)",
            valueName: "policy"),
        completion: .list(OverflowPolicy.allCases.map(\.word)), transform: Values.whenFull)
    var whenFull: OverflowPolicy?

    @Option(
        help: .init("Attempts that a message is allowed, the first included; of a new queue 10.", valueName: "count"))
    var attempts: Int?

    @Option(
        help: .init("The delay after the first failed attempt; of a new queue 1s.", valueName: "duration"),
        transform: Values.duration)
    var retryBase: Duration?

    @Option(help: .init("How much longer each delay is than the one before; of a new queue 2.", valueName: "factor"))
    var retryFactor: Double?

    @Option(help: .init("The longest delay; of a new queue 1h.", valueName: "duration"), transform: Values.duration)
    var retryCap: Duration?

    @Option(
        help: .init("The part of a delay, 0 to 1, that chance may take off; of a new queue 0.5.", valueName: "part"))
    var retryJitter: Double?

    @Option(
        help: .init("How long ended messages are kept, or none for ever; of a new queue 7d.", valueName: "duration"),
        transform: Values.durationOrNone)
    var retainAge: OrNone<Duration>?

    @Option(
        help: .init("How many ended messages are kept, or none for any number.", valueName: "count"),
        transform: Values.countOrNone)
    var retainCount: OrNone<Int>?

    @Option(
        help: .init("How long dead letters are kept, or none for ever.", valueName: "duration"),
        transform: Values.durationOrNone)
    var retainDead: OrNone<Duration>?

    @Option(
        help: .init(
            "What becomes of messages that nobody works when they expire (enqueue --expires): drop or dead.",
            valueName: "what"),
        completion: .list(ExpiryPolicy.allCases.map(\.rawValue)), transform: Values.whenExpired)
    var whenExpired: ExpiryPolicy?

    @OptionGroup var groupOptions: GroupPolicyOptions
    @OptionGroup var startOptions: StartPolicyOptions

    private static let whenFullDefault = "A new bound fails unless this says otherwise: nothing is lost unseen."

    var isEmpty: Bool {
        capacity == nil && whenFull == nil && attempts == nil && retryBase == nil && retryFactor == nil
            && retryCap == nil && retryJitter == nil && retainAge == nil && retainCount == nil && retainDead == nil
            && whenExpired == nil && groupOptions.isEmpty && startOptions.isEmpty
    }

    /// `policy` with what the options say.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when a number is out of its range.
    func applied(to policy: QueuePolicy) throws -> QueuePolicy {
        var policy = policy
        if let capacity {
            policy.capacity = capacity.value.map {
                Capacity($0, whenFull: whenFull ?? policy.capacity?.whenFull ?? .fail)
            }
        }
        if let whenFull {
            guard policy.capacity != nil else {
                throw Failure(.usage, "--when-full says nothing without a bound; add --capacity COUNT.")
            }
            policy.capacity?.whenFull = whenFull
        }
        policy.retry.attemptsMax = attempts ?? policy.retry.attemptsMax
        policy.retry.base = retryBase ?? policy.retry.base
        policy.retry.factor = retryFactor ?? policy.retry.factor
        policy.retry.cap = retryCap ?? policy.retry.cap
        policy.retry.jitter = retryJitter ?? policy.retry.jitter
        if let retainAge { policy.retention.age = retainAge.value }
        if let retainCount { policy.retention.count = retainCount.value }
        if let retainDead { policy.retention.deadAge = retainDead.value }
        policy.whenExpired = whenExpired ?? policy.whenExpired
        policy = try startOptions.applied(to: try groupOptions.applied(to: policy))
        try policy.validate()
        return policy
    }
}
