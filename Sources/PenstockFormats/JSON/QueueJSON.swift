package import PenstockCore

extension QueueStatus {
    /// The queue as JSON. Durations are seconds.
    package var json: JSONValue {
        .object([
            "queue": .string(name.text),
            "isPaused": .bool(isPaused),
            "isDeleting": .bool(isDeleting),
            "depths": depths.json,
            "totals": totals.json,
            "oldestReady": .optional(oldestReady, JSONValue.time),
            "oldestLease": .optional(oldestLease, JSONValue.time),
            "latency": .object(["wait": latency.wait.json, "work": latency.work.json]),
            "policy": policy.json,
        ])
    }
}

extension Depths {
    fileprivate var json: JSONValue {
        .object(Self.states.map { JSONValue.Member(key: $0.word, value: .integer(self[keyPath: $0.number])) })
    }
}

extension Totals {
    fileprivate var json: JSONValue {
        .object(Self.events.map { JSONValue.Member(key: $0.word, value: .integer(self[keyPath: $0.number])) })
    }
}

extension LatencyHistogram {
    /// The histogram as JSON: buckets that have something, of which the last may have no bound.
    fileprivate var json: JSONValue {
        let buckets = zip(Self.bounds.map(Optional.some) + [nil], counts).filter { $0.1 > 0 }
        return .object([
            "count": .integer(count),
            "sumSeconds": .seconds(sum),
            "p50Seconds": .optional(quantile(0.5)) { .seconds($0) },
            "p99Seconds": .optional(quantile(0.99)) { .seconds($0) },
            "buckets": .array(
                buckets.map { bound, count in
                    .object(["upToSeconds": .optional(bound) { .seconds($0) }, "count": .integer(count)])
                }),
        ])
    }
}

extension QueuePolicy {
    /// The policy as JSON. Durations are seconds; what has no bound is `null`.
    package var json: JSONValue {
        .object([
            "capacity": .optional(capacity) { capacity in
                .object(["count": .integer(capacity.count), "whenFull": .string(capacity.whenFull.rawValue)])
            },
            "retry": .object([
                "attemptsMax": .integer(retry.attemptsMax),
                "baseSeconds": .seconds(retry.base),
                "factor": .decimal(retry.factor),
                "capSeconds": .seconds(retry.cap),
                "jitter": .decimal(retry.jitter),
            ]),
            "retention": .object([
                "ageSeconds": .optional(retention.age) { .seconds($0) },
                "count": .optional(retention.count) { .integer($0) },
                "deadAgeSeconds": .optional(retention.deadAge) { .seconds($0) },
            ]),
            "whenExpired": .string(whenExpired.rawValue),
            "groups": .optional(groups) { groups in
                switch groups {
                case .fifo(let onDead): .object(["fifo": .bool(true), "onDead": .string(onDead.rawValue)])
                case .limit(let count): .object(["limitPerKey": .integer(count)])
                }
            },
            "limit": .optional(limit) { .integer($0) },
            "sharedLimit": .optional(sharedLimit) { .string($0.text) },
            "rate": .optional(rate) { $0.json },
            "ratePerKey": .optional(ratePerKey) { $0.json },
            "isFair": .bool(isFair),
        ])
    }
}

extension Rate {
    fileprivate var json: JSONValue {
        .object(["count": .integer(count), "periodSeconds": .seconds(period), "burst": .integer(burst)])
    }
}

extension WorkerRecord {
    package var json: JSONValue {
        .object([
            "worker": .integer(id),
            "name": .string(name),
            "processID": .optional(processID) { .integer(Int64($0)) },
            "startedAt": .time(startedAt),
            "isAlive": .optional(isAlive) { .bool($0) },
            "leased": .integer(leased),
            "oldestClaim": .optional(oldestClaim, JSONValue.time),
        ])
    }
}
