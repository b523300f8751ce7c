import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/queues/NAME/log`: a queue's log, the end of which goes on while somebody looks, and its replay.
struct LogPages {
    private static let rowCountMax = 500
    /// Bytes of a payload that a row shows.
    private static let rowBytesMax = 200
    /// How long a replay may take, with its waits for room in the queue.
    private static let replayTimeMax = Duration.seconds(60)

    func add(to routes: Routes) {
        routes.get("/queues/:queue/log", show)
        routes.get("/queues/:queue/replay", count)
        routes.post("/queues/:queue/replay", replay)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let query = try visit.query(PagePlace.names.union(["last"]))
        let last = try query.count("last", in: 1...Self.rowCountMax) ?? 50
        let place = try PagePlace(query)
        let (page, shown, isMore) = try await place.log(of: queue, in: visit.site.store.storage, count: last)
        var fields = try await Self.fields(queue, visit, ReplayPlan())
        fields["rows"] = shown.reversed().map { record -> Fields in
            [
                "sequence": "\(record.sequence)", "link": Link.message(record.sequence),
                "time": Shown.time(record.enqueuedAt, visit.now),
                "payload": Escape.bytes(record.payload.prefix(Self.rowBytesMax)),
                "isCut": record.payload.count > Self.rowBytesMax, "bytes": Shown.bytes(record.payload.count),
            ]
        }
        fields["hasRows"] = !shown.isEmpty
        fields["accepted"] = Shown.count(page.accepted)
        fields["last"] = last
        fields["isFull"] = isMore && shown.count < last
        if let after = place.after { fields["afterShown"] = "\(after)" }
        fields.merge(
            place.links(shown.map(\.sequence.rawValue), isMore: isMore) { parameters in
                Link.page("\(Link.queue(queue))/log", parameters.map { ($0.key, $0.value) } + [("last", "\(last)")])
            }
        ) { $1 }
        return visit.page(
            "log", "Log of \(queue)", in: .overview, following: place.isNewest ? .queue(queue) : .still, fields)
    }

    /// Says which messages a replay would put in line, and asks.
    @Sendable private func count(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let plan = try ReplayPlan(try visit.query(ReplayPlan.names), now: visit.now)
        let found = try await plan.messages(of: queue, in: visit.site.store.storage)
        var fields = try await Self.fields(queue, visit, plan)
        let target = plan.into ?? queue
        var shown: Fields = [
            "count": CountText.format(found.count, "message"),
            "mayReplay": !found.isEmpty && visit.mayAct(.operate, queue) && visit.mayAct(.operate, target),
            "into": target.text, "messages": SequenceRuns.text(found),
            "state": plan.state?.rawValue ?? "", "intoField": plan.into?.text ?? "",
        ]
        if let first = found.first, let last = found.last, first < last {
            shown["span"] = ["first": "\(first)", "last": "\(last)"]
        }
        fields["plan"] = shown
        return visit.page("log", "Replay of \(queue)", in: .overview, following: .still, fields)
    }

    /// Puts in line what was shown, and nothing else: the form names every message. One that is gone by now, or in another state
    /// than was asked for, is left out.
    @Sendable private func replay(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let form = try await visit.form(["messages", "state", "into"])
        let plan = try ReplayPlan(form, now: visit.now)
        let messages = try SequenceRuns.parse(form.text("messages") ?? "", countMax: ReplayPlan.countMax)
        let target = plan.into ?? queue
        // As by JSON: what is moved by hand asks for no other right.
        try visit.principal.require(.operate, target)
        let said = try await visit.act("replay", on: "\(queue) into \(target)", queue: queue, .operate) {
            let query = MessageQuery(queue: queue, sequences: messages, states: plan.state.map { [$0] })
            let count = try await visit.context.replay(
                query, into: plan.into, dryRun: false, in: visit.site.store, atMost: Self.replayTimeMax,
                visit.site.time)
            let rest = count < messages.count ? " The others are gone, or not in that state any more." : ""
            return "\(CountText.format(count, "message")) replayed into '\(target)'.\(rest)"
        }
        return visit.redirect(to: Link.queue(target), saying: said)
    }

    private static func fields(_ queue: QueueName, _ visit: Visit, _ plan: ReplayPlan) async throws -> Fields {
        var fields: Fields = ["name": queue.text, "link": Link.queue(queue)]
        if visit.mayAct(.operate, queue) {
            fields["replay"] =
                [
                    "link": "\(Link.queue(queue))/replay", "countMax": ReplayPlan.countMax, "limit": plan.count,
                    "states": MessageState.allCases.filter(\.isFinished).map {
                        ["word": $0.rawValue, "isChosen": $0 == plan.state] as Fields
                    },
                ] as Fields
        }
        return fields
    }
}
