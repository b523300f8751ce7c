import Penstock
import PenstockFormats

/// Groups and limits, for people.
enum GroupViews {
    static func table(_ groups: [GroupRecord]) -> Table {
        // Most queues are not shared, or by groups that weigh the same.
        let hasWeights = groups.contains { $0.weight > 1 }
        var table = Table(
            [.text("GROUP", widthMax: 60), .text("STATE"), .number("PERMITS"), .number("BLOCKED")]
                + (hasWeights ? [.number("WEIGHT")] : []))
        for group in groups {
            table.add(
                [Escape.text(group.key), state(group), "\(group.permitted)", "\(group.blocked)"]
                    + (hasWeights ? ["\(group.weight)"] : []))
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
        if let dead = group.heldBy { return "held by \(dead)" }
        return group.heldUntil.map { "held until \(TimeText.short($0))" } ?? "open"
    }
}
