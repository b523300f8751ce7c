package import PenstockCore

extension GroupRecord {
    package func json(of queue: QueueName) -> JSONValue {
        .object([
            "queue": .string(queue.text),
            "group": .string(key),
            "permitted": .integer(permitted),
            "blocked": .integer(blocked),
            "isPaused": .bool(isPaused),
            "heldBy": .optional(heldBy) { .integer($0.rawValue) },
            "heldUntil": .optional(heldUntil) { .time($0) },
            "weight": .integer(weight),
        ])
    }
}

extension LimitRecord {
    package var json: JSONValue {
        .object([
            "limit": .string(name.text),
            "count": .integer(count),
            "leased": .integer(leased),
            "queues": .array(queues.map { .string($0.text) }),
        ])
    }
}
