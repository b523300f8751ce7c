import PenstockCore
import PenstockFormats
import PenstockHTTP

/// A queue's policy as fields that somebody fills in, and as sentences.
enum PolicyForm {
    static let names: Set<String> = [
        "capacity", "whenFull", "attemptsMax", "retryBase", "retryFactor", "retryCap", "retryJitter", "keepFor",
        "keepCount", "keepDeadFor", "whenExpired", "groups", "limitPerKey", "limit", "sharedLimit", "rate", "burst",
        "ratePerKey", "burstPerKey", "isFair",
    ]

    private enum Groups: String, CaseIterable { case none, fifo, fifoHold, limit }

    /// The fields, filled with a policy.
    static func fields(_ policy: QueuePolicy) -> Fields {
        func text<Value>(_ value: Value?, _ make: (Value) -> String) -> String { value.map(make) ?? "" }
        let (groups, perKey): (Groups, Int?) =
            switch policy.groups {
            case nil: (.none, nil)
            case .fifo(.next): (.fifo, nil)
            case .fifo(.hold): (.fifoHold, nil)
            case .limit(let count): (.limit, count)
            }
        return [
            "capacity": text(policy.capacity) { "\($0.count)" },
            "whenFull": choices(OverflowPolicy.self, policy.capacity?.whenFull ?? .wait),
            "attemptsMax": "\(policy.retry.attemptsMax)", "retryBase": DurationText.format(policy.retry.base),
            "retryFactor": number(policy.retry.factor), "retryCap": DurationText.format(policy.retry.cap),
            "retryJitter": number(policy.retry.jitter), "keepFor": text(policy.retention.age, DurationText.format),
            "keepCount": text(policy.retention.count) { "\($0)" },
            "keepDeadFor": text(policy.retention.deadAge, DurationText.format),
            "whenExpired": choices(ExpiryPolicy.self, policy.whenExpired), "groups": choices(Groups.self, groups),
            "limitPerKey": text(perKey) { "\($0)" }, "limit": text(policy.limit) { "\($0)" },
            "sharedLimit": text(policy.sharedLimit) { $0.text }, "rate": text(policy.rate, rate),
            "burst": text(policy.rate) { "\($0.burst)" }, "ratePerKey": text(policy.ratePerKey, rate),
            "burstPerKey": text(policy.ratePerKey) { "\($0.burst)" }, "isFair": policy.isFair,
        ]
    }

    /// The policy that the fields make. A field that is empty is no bound; of the rest, what the library itself takes.
    static func policy(_ form: QueryParameters) throws(Problem) -> QueuePolicy {
        var policy = QueuePolicy()
        let any = Duration.zero...Limits.delayMax
        if let count = try form.count("capacity", in: Limits.capacityRange) {
            policy.capacity = Capacity(count, whenFull: try form.choice("whenFull", OverflowPolicy.self) ?? .wait)
        }
        policy.retry.attemptsMax = try form.count("attemptsMax", in: Limits.attemptsRange) ?? policy.retry.attemptsMax
        policy.retry.base = try form.duration("retryBase", in: any) ?? policy.retry.base
        policy.retry.cap = try form.duration("retryCap", in: any) ?? policy.retry.cap
        policy.retry.factor = try decimal(form, "retryFactor") ?? policy.retry.factor
        policy.retry.jitter = try decimal(form, "retryJitter") ?? policy.retry.jitter
        policy.retention = Retention(
            age: try form.duration("keepFor", in: any), count: try form.count("keepCount", in: 0...Int(Int32.max)),
            deadAge: try form.duration("keepDeadFor", in: any))
        policy.whenExpired = try form.choice("whenExpired", ExpiryPolicy.self) ?? .drop
        policy.groups =
            switch try form.choice("groups", Groups.self) {
            case nil, .none?: nil
            case .fifo: .fifo(onDead: .next)
            case .fifoHold: .fifo(onDead: .hold)
            case .limit: .limit(try form.count("limitPerKey", in: Limits.groupLimitRange) ?? 1)
            }
        policy.limit = try form.count("limit", in: Limits.leasedLimitRange)
        policy.sharedLimit = try form.name("sharedLimit")
        policy.rate = try rate(form, "rate", "burst")
        policy.ratePerKey = try rate(form, "ratePerKey", "burstPerKey")
        policy.isFair = try form.flag("isFair")
        do { try policy.validate() } catch { throw Problem(error, advice: .pages) }
        return policy
    }

    /// What a policy says, a subject and a sentence each.
    static func sentences(_ policy: QueuePolicy) -> [(String, String)] {
        let retry = policy.retry
        var lines = [
            (
                "capacity",
                policy.capacity.map { "\(Shown.count($0.count)) waiting; when full: \($0.whenFull.rawValue)" }
                    ?? "no bound"
            ),
            (
                "attempts",
                "\(retry.attemptsMax), from \(DurationText.format(retry.base)) by \(number(retry.factor)) up to "
                    + "\(DurationText.format(retry.cap)), jitter \(number(retry.jitter))"
            ),
            (
                "kept",
                [
                    policy.retention.age.map { "for \(DurationText.format($0))" } ?? "for ever",
                    policy.retention.count.map { "at most \(Shown.count($0))" },
                    policy.retention.deadAge.map { "dead letters for \(DurationText.format($0))" },
                ].compactMap(\.self).joined(separator: "; ")
            ),
            ("when expired", policy.whenExpired.rawValue),
        ]
        switch policy.groups {
        case nil: break
        case .fifo(let onDead):
            lines.append(("groups", "one at a time, in order; after a dead letter: \(onDead.rawValue)"))
        case .limit(let count): lines.append(("groups", "\(count) at a time"))
        }
        if let limit = policy.limit { lines.append(("limit", "\(Shown.count(limit)) with workers")) }
        if let shared = policy.sharedLimit { lines.append(("shared limit", shared.text)) }
        if let rate = policy.rate { lines.append(("rate", "\(self.rate(rate)), burst \(rate.burst)")) }
        if let rate = policy.ratePerKey { lines.append(("rate per key", "\(self.rate(rate)), burst \(rate.burst)")) }
        if policy.isFair { lines.append(("fair", "its groups take turns")) }
        return lines
    }

    private static func choices<Choice: RawRepresentable & CaseIterable & Equatable>(
        _ type: Choice.Type, _ chosen: Choice
    ) -> [Fields] where Choice.RawValue == String {
        Choice.allCases.map { ["value": $0.rawValue, "isChosen": $0 == chosen] }
    }

    private static func rate(_ form: QueryParameters, _ name: String, _ burst: String) throws(Problem) -> Rate? {
        guard var rate = try form.value(name, RateText.parse) else { return nil }
        rate.burst = try form.count(burst, in: Limits.rateCountRange) ?? 1
        return rate
    }

    private static func decimal(_ form: QueryParameters, _ name: String) throws(Problem) -> Double? {
        guard let text = form.text(name) else { return nil }
        guard let number = Double(text), number.isFinite else { throw Problem.invalid("'\(name)' is a number.") }
        return number
    }

    private static func number(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e9 ? String(Int(number)) : String(number)
    }

    private static func rate(_ rate: Rate) -> String { "\(rate.count)/\(DurationText.format(rate.period))" }
}
