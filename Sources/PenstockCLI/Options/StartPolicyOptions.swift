import ArgumentParser
import Penstock
import PenstockFormats

/// What a queue's policy says of when messages may start: rates, and whose turn it is.
struct StartPolicyOptions: ParsableArguments {
    @Option(
        help: .init("How many messages may start in how long, such as 100/1s or 5/1m, or none.", valueName: "rate"),
        transform: Values.rateOrNone)
    var rate: OrNone<Rate>?

    @Option(
        help: .init("How many may start at once when none has started for a while; 1 at first.", valueName: "count"))
    var burst: Int?

    @Option(
        help: .init(
            "The same for each group, or none. Without --fifo and --limit-per-key 1000 of a group are worked at a time then.",
            valueName: "rate"),
        transform: Values.rateOrNone)
    var ratePerKey: OrNone<Rate>?

    @Option(help: .init("How many of a group may start at once; 1 at first.", valueName: "count"))
    var burstPerKey: Int?

    @Flag(
        inversion: .prefixedNo, exclusivity: .exclusive,
        help: .init("Groups (enqueue --group) have workers by turns, whatever the others have waiting."))
    var fair: Bool?

    var isEmpty: Bool {
        rate == nil && burst == nil && ratePerKey == nil && burstPerKey == nil && fair == nil
    }

    func applied(to policy: QueuePolicy) throws -> QueuePolicy {
        var policy = policy
        policy.rate = try Self.rate(policy.rate, rate, burst, "--burst", "--rate")
        policy.ratePerKey = try Self.rate(
            policy.ratePerKey, ratePerKey, burstPerKey, "--burst-per-key", "--rate-per-key")
        if ratePerKey?.value != nil, policy.groups == nil {
            policy.groups = .limit(Limits.groupLimitRange.upperBound)
        }
        if policy.groups == nil, policy.ratePerKey != nil {
            throw Failure(.usage, "The queue has a rate per key, which is for groups; add --rate-per-key none.")
        }
        if let fair { policy.isFair = fair }
        return policy
    }

    private static func rate(
        _ before: Rate?, _ given: OrNone<Rate>?, _ burst: Int?, _ burstName: String, _ rateName: String
    ) throws -> Rate? {
        var rate = before
        if let given {
            rate = given.value
            if let kept = before?.burst { rate?.burst = kept }
        }
        if let burst {
            guard rate != nil else {
                throw Failure(.usage, "\(burstName) is for a queue with a rate; add \(rateName).")
            }
            rate?.burst = burst
        }
        return rate
    }
}

extension Rate {
    /// The rate as people type it.
    var word: String { "\(count)/\(DurationText.format(period))" }
}
