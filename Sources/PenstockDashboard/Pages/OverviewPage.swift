import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/`: all queues and their numbers. It costs what the queues are many, however many messages they have.
struct OverviewPage {
    /// Queues that one page shows.
    private static let rowCountMax = 100

    private enum Order: String, CaseIterable {
        case name, waiting, leased, dead, oldest

        var title: String {
            switch self {
            case .name: "name"
            case .waiting: "most waiting"
            case .leased: "most with workers"
            case .dead: "most dead letters"
            case .oldest: "longest waiting"
            }
        }
    }

    func add(to routes: Routes) {
        routes.get("/", show)
    }

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let query = try visit.query(["name", "sort", "page", "span"])
        let order = try query.choice("sort", Order.self) ?? .name
        let span = try query.choice("span", History.Span.self) ?? .minutes
        let page = try query.count("page", in: 1...100_000) ?? 1
        let status = try await visit.site.store.storage.status(of: nil)
        let all = status.queues.filter { visit.mayRead($0.name) }
        let part = query.text("name")?.lowercased()
        var queues = part.map { part in all.filter { $0.name.text.lowercased().contains(part) } } ?? all
        sort(&queues, order)
        let shown = queues.dropFirst((page - 1) * Self.rowCountMax).prefix(Self.rowCountMax)
        let workerCount = status.workers.count { $0.isAlive != false }
        let isWhole = visit.mayRead(nil)
        let hasOldest = all.contains { $0.oldestReady != nil }
        var fields: Fields = [
            "tiles": Self.tiles(
                all, visit.site.live, workerCount: isWhole ? workerCount : nil, knowsWorkers: status.knowsWorkers),
            "rows": shown.map { row($0, workerCount: workerCount, visit) },
            "isEmpty": all.isEmpty, "nothingFound": !all.isEmpty && shown.isEmpty,
            "name": query.text("name") ?? "", "count": CountText.format(queues.count, "queue"),
            "hasOldest": hasOldest, "hasLatency": all.contains { !visit.site.live.recent(of: $0.name).isEmpty },
            "orders": Order.allCases.filter { $0 != .oldest || hasOldest }.map {
                ["value": $0.rawValue, "title": $0.title, "isChosen": $0 == order] as Fields
            },
            "mayCreate": visit.mayAct(.operate, nil), "spanShown": span == .minutes ? "" : span.rawValue,
        ]
        // The charts are of the whole store, so they are for those who may look at all of it.
        if isWhole {
            fields["charts"] = ChartFields.fields(visit.site.live.history(of: nil), span) {
                Self.place(query, page: page, span: $0)
            }
        }
        if page > 1 { fields["before"] = Self.place(query, page: page - 1, span: span) }
        if queues.count > page * Self.rowCountMax { fields["after"] = Self.place(query, page: page + 1, span: span) }
        return visit.page("overview", "Overview", in: .overview, following: .all, fields)
    }

    private static func place(_ query: QueryParameters, page: Int, span: History.Span) -> String {
        Link.page(
            "/",
            [
                "name": query.text("name"), "sort": query.text("sort"), "page": page == 1 ? nil : String(page),
                "span": span == .minutes ? nil : span.rawValue,
            ])
    }

    private func sort(_ queues: inout [QueueStatus], _ order: Order) {
        switch order {
        case .name: break
        case .waiting: queues.sort { $0.depths.waiting > $1.depths.waiting }
        case .leased: queues.sort { $0.depths.leased > $1.depths.leased }
        case .dead: queues.sort { $0.depths.dead > $1.depths.dead }
        case .oldest:
            queues.sort { ($0.oldestReady?.microseconds ?? .max) < ($1.oldestReady?.microseconds ?? .max) }
        }
    }

    /// - Parameters:
    ///   - queues: those at which the visitor may look.
    ///   - workerCount: how many workers live; `nil`: he may look at some queues, and workers are the whole store's.
    ///   - knowsWorkers: whether it can be seen here which workers live.
    static func tiles(
        _ queues: [QueueStatus], _ live: Live, workerCount: Int?, knowsWorkers: Bool = true
    ) -> [Fields] {
        let sample = Sample(allOf: queues)
        let histories = workerCount == nil ? queues.map { live.history(of: $0.name) } : [live.history(of: nil)]
        func rate(_ number: KeyPath<Sample, UInt32>) -> String {
            Shown.rate(histories.reduce(0) { $0 + $1.rate(number) })
        }
        var tiles: [Fields] = [
            ["title": "waiting", "value": Shown.count(Int(sample.waiting))],
            ["title": "with workers", "value": Shown.count(Int(sample.leased))],
            ["title": "dead letters", "value": Shown.count(Int(sample.dead)), "isBad": sample.dead > 0],
            ["title": "in, a second", "value": rate(\.enqueued)],
            ["title": "done, a second", "value": rate(\.done)],
        ]
        if let workerCount, knowsWorkers {
            tiles.append(["title": "workers alive", "value": Shown.count(workerCount)])
        }
        return tiles
    }

    private func lastMinute(_ history: History) -> [Double?] {
        let values = history[.minutes].values(\.waiting).suffix(60)
        return [Double?](repeating: nil, count: 60 - values.count) + values
    }

    private func row(_ queue: QueueStatus, workerCount: Int, _ visit: Visit) -> Fields {
        let history = visit.site.live.history(of: queue.name)
        var fields: Fields = [
            "name": queue.name.text, "link": Link.queue(queue.name),
            "waiting": Shown.count(queue.depths.ready), "leased": Shown.count(queue.depths.leased),
            "later": Shown.count(queue.depths.scheduled),
            "held": Shown.count(queue.depths.blocked + queue.depths.pending),
            "dead": Shown.count(queue.depths.dead), "hasDead": queue.depths.dead > 0,
            "deadLink": Link.page("/dead", ["queue": queue.name.text]),
            "in": Shown.rate(history.rate(\.enqueued)), "out": Shown.rate(history.rate(\.done)),
            "spark": LineChart.spark(lastMinute(history)),
            "notes": QueueNotes.notes(queue, workerCount: workerCount),
        ]
        if let since = queue.oldestReady { fields["oldest"] = Shown.time(since, visit.now) }
        let recent = visit.site.live.recent(of: queue.name)
        if let waits = Quantiles(recent.wait) { fields["waits"] = waits.text }
        if let works = Quantiles(recent.work) { fields["works"] = works.text }
        return fields
    }
}
