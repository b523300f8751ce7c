import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/queues/NAME/log`: the end of a queue's log, which goes on while somebody looks, and its replay.
struct LogPages {
    private static let rowCountMax = 500
    /// Bytes of a payload that a row shows.
    private static let rowBytesMax = 200
    /// Messages that one replay by these pages puts in line. More are for the command.
    private static let replayCountMax = Limits.rowsMax

    private static let replayNames: Set<String> = ["count", "state", "since", "before", "into"]

    func add(to routes: Routes) {
        routes.get("/queues/:queue/log", show)
        routes.get("/queues/:queue/replay", count)
        routes.post("/queues/:queue/replay", replay)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let query = try visit.query(["after", "last"])
        let last = try query.count("last", in: 1...Self.rowCountMax) ?? 50
        let after = try query.sequence("after")
        let start = after.map { LogQuery.Start.after($0) } ?? .last(last)
        let page = try await visit.site.store.storage.log(LogQuery(queue: queue, start, limit: last))
        var fields = try await Self.fields(queue, visit, ReplayPlan())
        fields["rows"] = page.records.reversed().map { record -> Fields in
            [
                "sequence": "\(record.sequence)", "link": Link.message(record.sequence),
                "time": Shown.time(record.enqueuedAt, visit.now) ?? [:],
                "payload": Escape.bytes(record.payload.prefix(Self.rowBytesMax)),
                "isCut": record.payload.count > Self.rowBytesMax, "bytes": Shown.bytes(record.payload.count),
                "headers": record.headers.count,
            ]
        }
        fields["hasRows"] = !page.records.isEmpty
        fields["accepted"] = Shown.count(page.accepted)
        fields["last"] = last
        if let after { fields["afterShown"] = "\(after)" }
        if !page.isAtEnd, let end = page.records.last {
            fields["newer"] = Link.page("\(Link.queue(queue))/log", ["after": "\(end.sequence)", "last": "\(last)"])
        }
        return visit.page(
            "log", "Log of \(queue)", in: .overview, following: after == nil ? .queue(queue) : .still, fields)
    }

    /// Says how many messages a replay would put in line, and asks.
    @Sendable private func count(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let query = try visit.query(Self.replayNames)
        let plan = try ReplayPlan(query, now: visit.now)
        let count = try await visit.site.store.replay(plan.query(of: queue), into: plan.into, dryRun: true)
        var fields = try await Self.fields(queue, visit, plan)
        fields["plan"] =
            [
                "count": CountText.format(count, "message"), "expected": count, "isNone": count == 0,
                "into": (plan.into ?? queue).text,
                // The moments that were counted by, also where they were told relative to now.
                "since": plan.since.map(TimeText.format) ?? "", "before": plan.before.map(TimeText.format) ?? "",
                "limit": plan.count, "state": plan.state?.rawValue ?? "", "intoField": plan.into?.text ?? "",
            ] as Fields
        return visit.page("log", "Replay of \(queue)", in: .overview, following: .still, fields)
    }

    @Sendable private func replay(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let form = try await visit.form(Self.replayNames.union(["expected"]))
        let plan = try ReplayPlan(form, now: visit.now)
        let expected = try form.count("expected", in: 0...Self.replayCountMax) ?? 0
        let target = plan.into ?? queue
        try visit.principal.require(.produce, target)
        let said = try await visit.act("replay", on: "\(queue) into \(target)", queue: queue, .operate) {
            let query = plan.query(of: queue)
            let count = try await visit.site.store.replay(query, into: plan.into, dryRun: true)
            guard count <= expected else {
                throw Problem(
                    .conflict, code: "selectionChanged",
                    "\(count) messages match by now, and \(expected) were shown; nothing was replayed.")
            }
            let done = try await visit.site.store.replay(query, into: plan.into)
            return "\(CountText.format(done, "message")) replayed into '\(target)'."
        }
        return visit.redirect(to: Link.queue(target), saying: said)
    }

    private static func fields(_ queue: QueueName, _ visit: Visit, _ plan: ReplayPlan) async throws -> Fields {
        var fields: Fields = ["name": queue.text, "link": Link.queue(queue)]
        if visit.mayAct(.operate, queue) {
            fields["replay"] =
                [
                    "link": "\(Link.queue(queue))/replay", "countMax": Self.replayCountMax, "limit": plan.count,
                    "states": MessageState.allCases.filter(\.isFinished).map {
                        ["word": $0.rawValue, "isChosen": $0 == plan.state] as Fields
                    },
                ] as Fields
        }
        return fields
    }

    /// Which messages are replayed, and into which queue.
    private struct ReplayPlan {
        var count = 1000
        var state: MessageState?
        var since: Timestamp?
        var before: Timestamp?
        var into: QueueName?

        init() {}

        init(_ fields: QueryParameters, now: Timestamp) throws(Problem) {
            count = try fields.count("count", in: 1...LogPages.replayCountMax) ?? count
            state = try fields.choice("state", MessageState.self)
            since = try fields.time("since", now: now)
            before = try fields.time("before", now: now)
            into = try fields.value("into") { text throws(PenstockError) in try QueueName(text) }
        }

        func query(of queue: QueueName) -> MessageQuery {
            MessageQuery(
                queue: queue, states: state.map { [$0] }, since: since, before: before, end: .last, limit: count)
        }
    }
}
