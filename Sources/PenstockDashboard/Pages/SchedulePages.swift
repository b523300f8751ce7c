import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/schedules`: what is enqueued again and again, and when.
struct SchedulePages {
    private static let rowCountMax = 100

    func add(to routes: Routes) {
        routes.get("/schedules", list)
        routes.get("/schedules/:schedule", show)
        routes.post("/schedules/:schedule/pause", change("pause", .pause, "is paused"))
        routes.post("/schedules/:schedule/resume", change("resume", .resume, "goes on"))
        routes.post("/schedules/:schedule/run", change("run", .run, "has enqueued its message"))
        routes.post("/schedules/:schedule/remove", change("remove", .remove, "is removed"))
    }

    @Sendable private func list(_ visit: Visit) async throws -> Response {
        let after: ScheduleName? = try visit.query(["after"]).name("after")
        let (records, isMore) = try await visit.site.store.storage.schedules(after: after, limit: Self.rowCountMax) {
            visit.mayRead($0.schedule.queue)
        }
        var fields: Fields = ["rows": records.map { row($0, visit) }, "hasRows": !records.isEmpty]
        if after != nil { fields["first"] = "/schedules" }
        if isMore, let last = records.last { fields["more"] = Link.page("/schedules", ["after": last.name.text]) }
        return visit.page("schedules", "Schedules", in: .schedules, following: .all, fields)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        _ = try visit.query([])
        let record = try await Self.record(visit)
        var fields = row(record, visit)
        fields["firings"] = record.firings.map { firing -> Fields in
            var fields: Fields = [
                "due": Shown.time(firing.due, visit.now), "fired": Shown.time(firing.firedAt, visit.now),
                "outcome": firing.outcome.rawValue,
            ]
            if let sequence = firing.sequence {
                fields["message"] = ["sequence": "\(sequence)", "link": Link.message(sequence)]
            }
            return fields
        }
        fields["hasFirings"] = !record.firings.isEmpty
        fields["payload"] = PayloadText.text(
            record.schedule.message.payload, PayloadText.form(of: record.schedule.message.payload))
        fields["missed"] = record.schedule.missed.rawValue
        fields["jitter"] = DurationText.format(record.schedule.jitter)
        return visit.page(
            "schedule", "Schedule \(record.name)", in: .schedules, following: .queue(record.schedule.queue), fields)
    }

    private func row(_ record: ScheduleRecord, _ visit: Visit) -> Fields {
        var fields: Fields = [
            "name": record.name.text, "link": Link.schedule(record.name), "queue": record.schedule.queue.text,
            "queueLink": Link.queue(record.schedule.queue), "spec": record.schedule.spec, "zone": record.schedule.zone,
            "isPaused": record.isPaused, "fired": Shown.count(Int(record.firedCount)),
            "missedCount": Shown.count(Int(record.missedCount)),
        ]
        if let due = record.nextDue { fields["next"] = Shown.time(due, visit.now) }
        if let problem = record.problem { fields["problem"] = problem }
        if visit.mayAct(.operate, record.schedule.queue) {
            fields["act"] = ["isPaused": record.isPaused, "link": Link.schedule(record.name)] as Fields
        }
        return fields
    }

    private static func record(_ visit: Visit) async throws -> ScheduleRecord {
        let name = try ScheduleName(visit.context.parameters.name("schedule"))
        guard let record = try await visit.site.store.storage.schedules(name).first,
            visit.mayRead(record.schedule.queue)
        else {
            throw PenstockError(.unknownSchedule, "There is no schedule '\(name)'.")
        }
        return record
    }

    private func change(_ word: String, _ change: ScheduleChange, _ outcome: String) -> Routes.Show {
        { visit in
            let record = try await Self.record(visit)
            let said = try await visit.act(
                "\(word) schedule", on: record.name.text, queue: record.schedule.queue, .operate
            ) {
                try await visit.site.store.storage.schedule(record.name, change)
                return "The schedule '\(record.name)' \(outcome)."
            }
            if case .remove = change { return visit.redirect(to: "/schedules", saying: said) }
            return visit.redirect(to: Link.schedule(record.name), saying: said)
        }
    }
}
