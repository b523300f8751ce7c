package import PenstockCore

extension ScheduleRecord {
    /// The schedule as JSON. Durations are seconds.
    package var json: JSONValue { json(payload: .payload(schedule.message.payload), withFirings: true) }

    /// The schedule as JSON without its firings, which a list does not read.
    package var jsonOfList: JSONValue { json(payload: .payload(schedule.message.payload), withFirings: false) }

    /// The same without the payload, of which it says how large it is: an answer has many schedules, and each payload may be large.
    package var jsonWithoutPayload: JSONValue {
        json(
            payload: .init(key: "payloadBytes", value: .integer(schedule.message.payload.count)), withFirings: false)
    }

    private func json(payload: JSONValue.Member, withFirings: Bool) -> JSONValue {
        let members: KeyValuePairs<String, JSONValue> = [
            "schedule": .string(name.text),
            "queue": .string(schedule.queue.text),
            "spec": .string(schedule.spec),
            "zone": .string(schedule.zone),
            "isPaused": .bool(isPaused),
            "isReckoned": .bool(isReckoned),
            "nextDue": .optional(nextDue, JSONValue.time),
            "missed": .string(schedule.missed.rawValue),
            "windowSeconds": .seconds(schedule.window),
            "jitterSeconds": .seconds(schedule.jitter),
            "starts": .optional(schedule.starts, JSONValue.time),
            "ends": .optional(schedule.ends, JSONValue.time),
            "priority": .integer(schedule.message.priority),
            "attemptsMax": .optional(schedule.message.attemptsMax) { .integer($0) },
            "group": .optional(schedule.message.group) { .string($0) },
            "expiresSeconds": .optional(schedule.message.expiry) { expiry in
                if case .after(let duration) = expiry { .seconds(duration) } else { .null }
            },
            "uniqueKey": .optional(schedule.message.uniqueKey) { .string($0.key) },
            "keyScope": .optional(schedule.message.uniqueKey?.scope, JSONValue.scope),
            "keyPeriodSeconds": .optional(schedule.message.uniqueKey?.scope, JSONValue.period),
            payload.key: payload.value,
            "headers": .texts(schedule.message.headers),
            "firedCount": .integer(firedCount),
            "missedCount": .integer(missedCount),
            "problem": .optional(problem) { .string($0) },
        ]
        let json = JSONValue.object(members)
        return withFirings ? json.adding(["firings": .array(firings.map(\.json))]) : json
    }
}

extension FiringRecord {
    package var json: JSONValue {
        .object([
            "due": .time(due),
            "firedAt": .time(firedAt),
            "outcome": .string(outcome.rawValue),
            "sequence": .optional(sequence) { .integer($0.rawValue) },
        ])
    }
}
