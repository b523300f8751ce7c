package import PenstockCore

extension MessageRecord {
    /// Everything about the message as JSON, with what it has left behind.
    package func json(with journal: MessageJournal) -> JSONValue {
        guard case .object(let members) = json(withAttempts: true) else { return .null }
        var left: [JSONValue.Member] = [
            .init(key: "workflow", value: .optional(journal.task) { .string($0.workflow.text) }),
            .init(key: "task", value: .optional(journal.task) { .string($0.task.text) }),
            .init(key: "awaited", value: .optional(journal.awaited) { .string($0.text) }),
            .init(key: "steps", value: .array(journal.steps.map(\.json))),
        ]
        if let result = journal.result { left.append(.bytes(result, "result")) }
        return .object(members + left)
    }

    /// The message as JSON. The payload is there as `payload` when it is UTF-8, and as `payloadBase64` otherwise.
    ///
    /// - Parameter withAttempts: whether the failed attempts are part of it.
    package func json(withAttempts: Bool) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init(key: "sequence", value: .integer(sequence.rawValue)),
            .init(key: "queue", value: .string(queue.text)),
            .init(key: "state", value: .string(state.rawValue)),
            .init(key: "reason", value: .optional(reason) { .string($0.rawValue) }),
            .init(key: "priority", value: .integer(priority)),
            .init(key: "attempt", value: .integer(attempt)),
            .init(key: "attemptsMax", value: .integer(attemptsMax)),
            .init(key: "enqueuedAt", value: .time(enqueuedAt)),
            .init(key: "due", value: .optional(due, JSONValue.time)),
            .init(key: "expiresAt", value: .optional(expiresAt, JSONValue.time)),
            .init(key: "claimedAt", value: .optional(claimedAt, JSONValue.time)),
            .init(key: "worker", value: .optional(worker) { .integer($0) }),
            .init(key: "cancelRequestedAt", value: .optional(cancelRequestedAt, JSONValue.time)),
            .init(key: "progress", value: .optional(progress, \.json)),
            .init(key: "finishedAt", value: .optional(finishedAt, JSONValue.time)),
            .init(key: "uniqueKey", value: .optional(uniqueKey) { .string($0) }),
            .init(key: "keyScope", value: .optional(keyScope, JSONValue.scope)),
            .init(key: "keyPeriodSeconds", value: .optional(keyScope, JSONValue.period)),
            .init(key: "group", value: .optional(group) { .string($0) }),
            .init(key: "headers", value: .texts(headers)),
            .init(key: "origin", value: .optional(origin) { .integer($0.rawValue) }),
            .init(key: "payloadBytes", value: .integer(payloadBytes)),
        ]
        if let payload { members.append(.payload(payload)) }
        if withAttempts { members.append(.init(key: "attempts", value: .array(attempts.map(\.json)))) }
        return .object(members)
    }
}

extension ProgressRecord {
    /// The progress as JSON.
    package var json: JSONValue {
        .object([
            "fraction": .optional(progress.fraction) { .decimal($0) },
            "text": .string(progress.text),
            "reportedAt": .time(reportedAt),
        ])
    }
}

extension AttemptRecord {
    /// The attempt as JSON.
    package var json: JSONValue {
        .object([
            "attempt": .integer(attempt),
            "outcome": .string(outcome.rawValue),
            "error": .string(error),
            "worker": .string(worker),
            "startedAt": .time(startedAt),
            "endedAt": .time(endedAt),
        ])
    }
}

extension StepRecord {
    /// The step as JSON.
    package var json: JSONValue {
        .object([
            .init(key: "step", value: .string(name.text)),
            .init(key: "recordedAt", value: .time(recordedAt)),
            .bytes(result, "result"),
        ])
    }
}

extension Receipt {
    /// The receipt as JSON.
    package func json(queue: QueueName) -> JSONValue {
        .object([
            "sequence": .integer(sequence.rawValue),
            "queue": .string(queue.text),
            "state": .optional(state) { .string($0.rawValue) },
            "durability": .string(durability.rawValue),
            "skipped": .bool(skipped),
            "displaced": .optional(displaced) { .integer($0.rawValue) },
        ])
    }
}

extension JSONValue {
    /// A moment: ISO 8601 in UTC with microseconds.
    package static func time(_ moment: Timestamp) -> JSONValue { .string(TimeText.format(moment)) }

    /// An object of texts, such as headers, by name.
    package static func texts(_ texts: [String: String]) -> JSONValue {
        .object(texts.sorted { $0.key < $1.key }.map { Member(key: $0.key, value: .string($0.value)) })
    }
}

extension JSONValue.Member {
    /// A payload, under the key that says how it is written.
    package static func payload(_ bytes: [UInt8]) -> JSONValue.Member { .bytes(bytes, "payload") }

    /// Bytes, under `key` when they are text, and as base64 under `keyBase64` otherwise.
    package static func bytes(_ bytes: [UInt8], _ key: String) -> JSONValue.Member {
        if let text = String(validating: bytes, as: UTF8.self) {
            return JSONValue.Member(key: key, value: .string(text))
        }
        return JSONValue.Member(key: "\(key)Base64", value: .string(Base64.encode(bytes)))
    }
}
