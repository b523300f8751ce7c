import Penstock
import PenstockFormats

/// Schedules, for people.
enum ScheduleTables {
    static func list() -> Table {
        Table([
            .text("SCHEDULE", widthMax: 40), .text("QUEUE", widthMax: 40), .text("SPEC"), .text("ZONE"), .text("NEXT"),
            .number("FIRED"), .number("MISSED"),
        ])
    }

    static func listRow(_ record: ScheduleRecord) -> [String] {
        [
            Escape.text(record.name.text), Escape.text(record.schedule.queue.text), Escape.text(record.schedule.spec),
            Escape.text(record.schedule.zone), next(record), "\(record.firedCount)", "\(record.missedCount)",
        ]
    }

    static func details(_ record: ScheduleRecord) -> [String] {
        let schedule = record.schedule
        var facts: [(String, String)] = [
            ("schedule", Escape.text(record.name.text)),
            ("queue", Escape.text(schedule.queue.text)),
            ("spec", "\(Escape.text(schedule.spec)) in \(Escape.text(schedule.zone))"),
            ("next", next(record)),
            (
                "missed",
                schedule.missed == .all
                    ? "all of the last \(DurationText.format(schedule.window))" : schedule.missed.rawValue
            ),
            ("jitter", DurationText.format(schedule.jitter)),
            ("counts", "\(record.firedCount) fired, \(record.missedCount) missed"),
            ("expires", expiry(schedule.message.expiry)),
            ("group", schedule.message.group.map(Escape.text) ?? "none"),
            ("key", schedule.message.uniqueKey.map { KeyScope.text(of: $0.key, $0.scope) } ?? "none"),
            ("payload", Escape.text(String(decoding: schedule.message.payload.prefix(500), as: UTF8.self))),
        ]
        if let starts = schedule.starts { facts.append(("starts", TimeText.short(starts))) }
        if let ends = schedule.ends { facts.append(("ends", TimeText.short(ends))) }
        for firing in record.firings.prefix(10) {
            let message = firing.sequence.map { ", message \($0)" } ?? ""
            facts.append(("fired", "\(TimeText.short(firing.due)) \(firing.outcome.rawValue)\(message)"))
        }
        return Table.lines(of: facts)
    }

    private static func expiry(_ expiry: Expiry?) -> String {
        if case .after(let duration) = expiry { "\(DurationText.format(duration)) after each is due" } else { "never" }
    }

    private static func next(_ record: ScheduleRecord) -> String {
        if let problem = record.problem { return Escape.text(problem) }
        if !record.isReckoned { return "not reckoned yet; a worker does" }
        return record.isPaused ? "paused" : record.nextDue.map(TimeText.short) ?? "never"
    }
}
