import ArgumentParser
import Penstock

/// What a queue's policy says of groups, and of how many messages may be with workers at the same time.
struct GroupPolicyOptions: ParsableArguments {
    @Flag(
        inversion: .prefixedNo, exclusivity: .exclusive,
        help: .init(
            "Messages have groups (enqueue --group), each worked one at a time and in the order of the log."))
    var fifo: Bool?

    @Option(
        help: .init(
            "When a message of a group in order is dead: next goes on, or hold, until that one is redriven or discarded.",
            valueName: "what"),
        completion: .list(OnDead.allCases.map(\.rawValue)), transform: Values.onDead)
    var onDead: OnDead?

    @Option(
        help: .init(
            "Messages have groups, of each of which so many are worked at the same time; or none for no groups.",
            valueName: "count"),
        transform: Values.countOrNone)
    var limitPerKey: OrNone<Int>?

    @Option(
        help: .init("How many messages are worked at the same time by all workers, or none.", valueName: "count"),
        transform: Values.countOrNone)
    var limit: OrNone<Int>?

    @Option(
        help: .init("A limit that the queue shares with others (penstock limit set), or none.", valueName: "name"),
        transform: Values.limitOrNone)
    var shareLimit: OrNone<LimitName>?

    var isEmpty: Bool {
        fifo == nil && onDead == nil && limitPerKey == nil && limit == nil && shareLimit == nil
    }

    func applied(to policy: QueuePolicy) throws -> QueuePolicy {
        var policy = policy
        if fifo == true, limitPerKey?.value != nil {
            throw Failure(.usage, "--fifo is one at a time; leave out --limit-per-key.")
        }
        if fifo == false {
            switch policy.groups {
            case .fifo: policy.groups = nil
            case .limit where limitPerKey == nil:
                throw Failure(
                    .usage, "The queue's groups are not in order; --limit-per-key none takes the groups away.")
            case .limit, nil: break
            }
        }
        if let limitPerKey {
            switch policy.groups {
            case .fifo where fifo == true: break
            case .fifo where limitPerKey.value == nil:
                throw Failure(
                    .usage,
                    "The queue's groups are in order and have no limit per key; --no-fifo takes the groups away.")
            case .fifo:
                throw Failure(
                    .usage,
                    "The queue's groups are in order, which a limit per key would end; add --no-fifo if that is meant.")
            case .limit, nil: policy.groups = limitPerKey.value.map(GroupPolicy.limit)
            }
        }
        if fifo == true {
            switch policy.groups {
            case .limit:
                throw Failure(
                    .usage,
                    "The queue has a limit per key, which --fifo would replace by one; add --limit-per-key none.")
            case .fifo: break
            case nil: policy.groups = .fifo()
            }
        }
        if let onDead {
            guard case .fifo = policy.groups else {
                throw Failure(.usage, "--on-dead is for groups in order; add --fifo.")
            }
            policy.groups = .fifo(onDead: onDead)
        }
        if let limit { policy.limit = limit.value }
        if let shareLimit { policy.sharedLimit = shareLimit.value }
        return policy
    }
}
