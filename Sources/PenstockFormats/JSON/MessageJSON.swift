package import PenstockCore

extension MessageRecord {
    /// Everything about the message as JSON, with what it has left behind.
    package func json(with journal: MessageJournal) -> JSONValue {
        let json = json(withAttempts: true).adding([
            "workflow": .optional(journal.task) { .string($0.workflow.text) },
            "task": .optional(journal.task) { .string($0.task.text) },
            "awaited": .optional(journal.awaited) { .string($0.text) },
            "steps": .array(journal.steps.map(\.json)),
        ])
        return journal.result.map { json.adding([.bytes($0, "result")]) } ?? json
    }

    /// The message as JSON. The payload is there as `payload` when it is UTF-8, and as `payloadBase64` otherwise.
    package func json(withAttempts: Bool) -> JSONValue {
        let members: KeyValuePairs<String, JSONValue> = [
            "sequence": .integer(sequence.rawValue),
            "queue": .string(queue.text),
            "state": .string(state.rawValue),
            "reason": .optional(reason) { .string($0.rawValue) },
            "priority": .integer(priority),
            "attempt": .integer(attempt),
            "attemptsMax": .integer(attemptsMax),
            "enqueuedAt": .time(enqueuedAt),
            "due": .optional(due, JSONValue.time),
            "expiresAt": .optional(expiresAt, JSONValue.time),
            "claimedAt": .optional(claimedAt, JSONValue.time),
            "leaseEndsAt": .optional(leaseEndsAt, JSONValue.time),
            "worker": .optional(worker) { .integer($0) },
            "cancelRequestedAt": .optional(cancelRequestedAt, JSONValue.time),
            "progress": .optional(progress, \.json),
            "finishedAt": .optional(finishedAt, JSONValue.time),
            "uniqueKey": .optional(uniqueKey) { .string($0) },
            "keyScope": .optional(keyScope, JSONValue.scope),
            "keyPeriodSeconds": .optional(keyScope, JSONValue.period),
            "group": .optional(group) { .string($0) },
            "headers": .texts(headers),
            "origin": .optional(origin) { .integer($0.rawValue) },
            "payloadBytes": .integer(payloadBytes),
        ]
        var json = JSONValue.object(members)
        if let payload { json = json.adding([.payload(payload)]) }
        return withAttempts ? json.adding(["attempts": .array(attempts.map(\.json))]) : json
    }
}

extension ProgressRecord {
    package var json: JSONValue {
        .object([
            "fraction": .optional(progress.fraction) { .decimal($0) },
            "text": .string(progress.text),
            "reportedAt": .time(reportedAt),
        ])
    }
}

extension AttemptRecord {
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
    package var json: JSONValue {
        .object([
            .init(key: "step", value: .string(name.text)),
            .init(key: "recordedAt", value: .time(recordedAt)),
            .bytes(result, "result"),
        ])
    }
}

extension Receipt {
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

    /// What a message or a task gave; `null` when it gave nothing.
    package static func result(_ bytes: [UInt8]?) -> JSONValue.Member {
        bytes.map { .bytes($0, "result") } ?? JSONValue.Member(key: "result", value: .null)
    }

    /// Bytes, under `key` when they are text, and as base64 under `keyBase64` otherwise.
    package static func bytes(_ bytes: [UInt8], _ key: String) -> JSONValue.Member {
        if let text = String(validating: bytes, as: UTF8.self) {
            return JSONValue.Member(key: key, value: .string(text))
        }
        return JSONValue.Member(key: "\(key)Base64", value: .string(Base64.encode(bytes)))
    }
}
