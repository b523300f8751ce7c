import PenstockCore
import PenstockFormats

/// A queue's policy as somebody has written it, in the members that it is shown with: what is left out stays as it is, and `null`
/// takes a bound away (RFC 7396).
struct PolicyEntry: Decodable {
    private let apply: (inout QueuePolicy) throws -> Void

    /// `policy` with what was written.
    ///
    /// Never inlined: the compiler of Swift 6.3 crashes in release over an async function that has this in it.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when a value is out of its range.
    @inline(never) func applied(to policy: QueuePolicy) throws -> QueuePolicy {
        var policy = policy
        try apply(&policy)
        try policy.validate()
        return policy
    }

    init(from decoder: any Decoder) throws {
        let members = try Members(
            decoder,
            [
                "capacity", "retry", "retention", "whenExpired", "groups", "limit", "sharedLimit", "rate", "ratePerKey",
                "isFair",
            ], of: "A policy")
        let capacity: CapacityEntry? = try members.value("capacity")
        let retry: RetryEntry? = try members.value("retry")
        let retention: RetentionEntry? = try members.value("retention")
        let groups: GroupsEntry? = try members.value("groups")
        let (rate, ratePerKey): (RateEntry?, RateEntry?) = (try members.value("rate"), try members.value("ratePerKey"))
        let limit: Int? = try members.value("limit")
        let sharedLimit: LimitName? = try members.value("sharedLimit")
        let whenExpired: ExpiryPolicy? = try members.value("whenExpired")
        let isFair: Bool? = try members.value("isFair")
        apply = { policy in
            if members.has("capacity") { policy.capacity = try capacity?.applied(to: policy.capacity) }
            if let retry { policy.retry = retry.applied(to: policy.retry) }
            if let retention { policy.retention = retention.applied(to: policy.retention) }
            if let whenExpired { policy.whenExpired = whenExpired }
            if members.has("groups") { policy.groups = try groups?.applied(to: policy.groups) }
            if members.has("limit") { policy.limit = limit }
            if members.has("sharedLimit") { policy.sharedLimit = sharedLimit }
            if members.has("rate") { policy.rate = try rate?.applied(to: policy.rate) }
            if members.has("ratePerKey") { policy.ratePerKey = try ratePerKey?.applied(to: policy.ratePerKey) }
            if let isFair { policy.isFair = isFair }
        }
    }
}

private struct CapacityEntry: Decodable {
    var count: Int?
    var whenFull: OverflowPolicy?

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, ["count", "whenFull"], of: "A capacity")
        (count, whenFull) = (try members.value("count"), try members.value("whenFull"))
    }

    func applied(to capacity: Capacity?) throws(PenstockError) -> Capacity {
        guard let count = count ?? capacity?.count else {
            throw PenstockError(
                .invalidInput, "A capacity has a \"count\"; without a bound leave it out, or write null.")
        }
        // As with the command, a new bound fails unless it says otherwise: nothing is lost unseen.
        return Capacity(count, whenFull: whenFull ?? capacity?.whenFull ?? .fail)
    }
}

private struct RetryEntry: Decodable {
    let members: (attemptsMax: Int?, base: Duration?, factor: Double?, cap: Duration?, jitter: Double?)

    init(from decoder: any Decoder) throws {
        let written = try Members(
            decoder, ["attemptsMax", "baseSeconds", "factor", "capSeconds", "jitter"], of: "A retry policy")
        members = (
            try written.value("attemptsMax"), try written.duration("baseSeconds"), try written.value("factor"),
            try written.duration("capSeconds"), try written.value("jitter")
        )
    }

    func applied(to retry: RetryPolicy) -> RetryPolicy {
        RetryPolicy(
            attemptsMax: members.attemptsMax ?? retry.attemptsMax, base: members.base ?? retry.base,
            factor: members.factor ?? retry.factor, cap: members.cap ?? retry.cap,
            jitter: members.jitter ?? retry.jitter)
    }
}

private struct RetentionEntry: Decodable {
    let apply: (inout Retention) -> Void

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, ["ageSeconds", "count", "deadAgeSeconds"], of: "A retention")
        let (age, deadAge) = (try members.duration("ageSeconds"), try members.duration("deadAgeSeconds"))
        let count: Int? = try members.value("count")
        apply = { retention in
            if members.has("ageSeconds") { retention.age = age }
            if members.has("count") { retention.count = count }
            if members.has("deadAgeSeconds") { retention.deadAge = deadAge }
        }
    }

    func applied(to retention: Retention) -> Retention {
        var retention = retention
        apply(&retention)
        return retention
    }
}

private struct GroupsEntry: Decodable {
    var isInOrder: Bool?
    var onDead: OnDead?
    var limitPerKey: Int?

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, ["fifo", "onDead", "limitPerKey"], of: "A policy of groups")
        isInOrder = try members.value("fifo")
        onDead = try members.value("onDead")
        limitPerKey = try members.value("limitPerKey")
    }

    func applied(to groups: GroupPolicy?) throws(PenstockError) -> GroupPolicy {
        if let limitPerKey {
            try require(
                isInOrder != true && onDead == nil,
                "Groups are in order (fifo, onDead) or have a limitPerKey, not both.")
            return .limit(limitPerKey)
        }
        if case .fifo(let before)? = groups, isInOrder != false { return .fifo(onDead: onDead ?? before) }
        try require(isInOrder == true, "Groups have \"fifo\": true, or a limitPerKey; for no groups write null.")
        return .fifo(onDead: onDead ?? .next)
    }
}

private struct RateEntry: Decodable {
    var count: Int?
    var period: Duration?
    var burst: Int?

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, ["count", "periodSeconds", "burst"], of: "A rate")
        (count, burst) = (try members.value("count"), try members.value("burst"))
        period = try members.duration("periodSeconds")
    }

    func applied(to rate: Rate?) throws(PenstockError) -> Rate {
        guard let count = count ?? rate?.count, let period = period ?? rate?.period else {
            throw PenstockError(.invalidInput, "A rate has a \"count\" and \"periodSeconds\".")
        }
        return Rate(count, per: period, burst: burst ?? rate?.burst ?? 1)
    }
}
