package import PenstockCore

extension DeadGroup {
    package var json: JSONValue {
        .object([
            "queue": .string(queue.text),
            "reason": .optional(signature.reason) { .string($0.rawValue) },
            "error": .string(signature.error),
            "count": .integer(count),
            "firstAt": .time(firstAt),
            "lastAt": .time(lastAt),
            "example": .integer(example.rawValue),
        ])
    }
}
