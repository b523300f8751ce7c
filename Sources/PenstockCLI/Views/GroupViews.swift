import Penstock

/// Groups and limits, for people.
enum GroupViews {
    static func table(_ groups: [GroupRecord]) -> Table {
        var table = Table([
            .text("GROUP", widthMax: 60), .text("STATE"), .number("WORKED"), .number("BLOCKED"),
        ])
        for group in groups {
            table.add([Escape.text(group.key), state(group), "\(group.permitted)", "\(group.blocked)"])
        }
        return table
    }

    static func table(_ limits: [LimitRecord]) -> Table {
        var table = Table([
            .text("LIMIT", widthMax: 40), .number("COUNT"), .number("LEASED"), .text("QUEUES", widthMax: 60),
        ])
        for limit in limits {
            table.add([
                Escape.text(limit.name.text), "\(limit.count)", "\(limit.leased)",
                limit.queues.map { Escape.text($0.text) }.joined(separator: ", "),
            ])
        }
        return table
    }

    private static func state(_ group: GroupRecord) -> String {
        if group.isPaused { return "paused" }
        return group.heldBy.map { "held by \($0)" } ?? "open"
    }
}

extension GroupRecord {
    /// The group as JSON.
    func json(of queue: QueueName) -> JSONValue {
        .object([
            "queue": .string(queue.text),
            "group": .string(key),
            "permitted": .integer(permitted),
            "blocked": .integer(blocked),
            "isPaused": .bool(isPaused),
            "heldBy": .optional(heldBy) { .integer($0.rawValue) },
        ])
    }
}

extension LimitRecord {
    /// The limit as JSON.
    var json: JSONValue {
        .object([
            "limit": .string(name.text),
            "count": .integer(count),
            "leased": .integer(leased),
            "queues": .array(queues.map { .string($0.text) }),
        ])
    }
}
