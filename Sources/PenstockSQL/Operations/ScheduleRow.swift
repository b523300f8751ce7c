import PenstockCore
import PenstockSchedules

/// A schedule as its row has it.
struct ScheduleRow {
    var id: Int64
    var name: ScheduleName
    var schedule: Schedule
    var isPaused: Bool
    var anchor: Timestamp
    /// `nil`: it is to be reckoned. ``never``: there is none.
    var nextDue: Int64?
    var reckonedFrom: Timestamp?
    var revision: Int64
    var zoneData: Int64?
    var firedCount: Int64
    var missedCount: Int64
    var problem: String?

    /// The due time of a schedule that fires no more.
    static let never = Int64.max

    /// The columns that ``init(_:)`` reads, in its order.
    static let columns = """
        schedule.id, schedule.name, queue.name, schedule.spec, schedule.zone, schedule.payload, schedule.headers,
        schedule.priority, schedule.attempts_max, schedule.unique_key, schedule.on_conflict, schedule.missed,
        schedule.missed_window, schedule.jitter, schedule.starts_at, schedule.ends_at, schedule.paused, schedule.anchor,
        schedule.next_due, schedule.reckoned_from, schedule.revision, schedule.zone_data, schedule.fired_total,
        schedule.missed_total, schedule.problem, schedule.group_key, schedule.key_scope, schedule.expires_after
        """
    static let tables = "penstock_schedule AS schedule JOIN penstock_queue AS queue ON queue.id = schedule.queue_id"

    /// Numbers that were written by hand beyond what a schedule may say count as that: what comes of them is reckoned with, and shown.
    init(_ row: PreparedStatement) throws {
        id = row.integer(0)
        name = ScheduleName(stored: row.text(1) ?? "")
        var message = NewMessage(
            payload: try row.bytes(5), headers: HeaderText.decode(row.text(6)), priority: Int(row.integer(7)),
            attemptsMax: row.optionalInteger(8).map(Int.init), group: row.text(25),
            expiry: row.optionalInteger(27).map { .after(min(.microseconds($0), Limits.delayMax)) })
        if let key = row.text(9) {
            message.uniqueKey = UniqueKey(
                key, scope: KeyScope(stored: row.optionalInteger(26)),
                onConflict: row.text(10).flatMap(KeyConflict.init) ?? .skip)
        }
        schedule = Schedule(
            queue: QueueName(stored: row.text(2) ?? ""), spec: row.text(3) ?? "", zone: row.text(4) ?? "",
            message: message, missed: row.text(11).flatMap(MissedFirings.init) ?? .one,
            window: .microseconds(row.integer(12)),
            jitter: min(.microseconds(row.integer(13)), Limits.scheduleJitterMax),
            starts: row.optionalInteger(14).map { Timestamp(microseconds: $0) },
            ends: row.optionalInteger(15).map { Timestamp(microseconds: $0) })
        isPaused = row.integer(16) != 0
        anchor = Timestamp(microseconds: row.integer(17))
        nextDue = row.optionalInteger(18)
        reckonedFrom = row.optionalInteger(19).map { Timestamp(microseconds: $0) }
        revision = row.integer(20)
        zoneData = row.optionalInteger(21)
        firedCount = row.integer(22)
        missedCount = row.integer(23)
        problem = row.text(24)
    }

    /// Whether it fires no more because something is wrong with it, and not because it has ended.
    var hasGivenUp: Bool { nextDue == Self.never && problem != nil }

    /// Whether it was seen to by a clock that was far ahead.
    func isAhead(of now: Timestamp) -> Bool {
        ClockAhead.concerns(schedule, reckonedFrom: reckonedFrom, anchor: anchor, at: now)
    }

    /// The schedule for people and programs.
    func record(_ firings: [FiringRecord]) -> ScheduleRecord {
        let isNamed = !isPaused && nextDue != Self.never
        return ScheduleRecord(
            name: name, schedule: schedule, isPaused: isPaused,
            nextDue: isNamed ? nextDue.map { Timestamp(microseconds: $0) } : nil,
            isReckoned: isPaused || nextDue != nil,
            firedCount: firedCount, missedCount: missedCount, problem: problem, firings: firings)
    }
}
