import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/queues/NAME`: a queue, and what may be done to it.
struct QueuePages {
    /// Groups that the page shows.
    private static let groupCountMax = 50
    /// Messages of a group that wait, as far as the page counts them: it is made anew whenever the queue changes.
    private static let blockedCountMax = 1000

    func add(to routes: Routes) {
        // Not at `/queues/new`, where a queue of that name is.
        routes.get("/queues") { visit in
            _ = try visit.query([])
            try visit.requireAct(.operate, nil)
            return visit.page(
                "queueNew", "A new queue", in: .overview,
                ["name": "", "policy": PolicyForm.fields(QueuePolicy())])
        }
        routes.post("/queues", create)
        routes.get("/queues/:queue", show)
        routes.post("/queues/:queue/pause", change("pause", .pause, "is paused"))
        routes.post("/queues/:queue/resume", change("resume", .resume, "goes on"))
        routes.post("/queues/:queue/delete", delete)
        routes.post("/queues/:queue/cancel", cancelWaiting)
        routes.post("/queues/:queue/enqueue", enqueue)
        routes.post("/queues/:queue/groups/pause", changeGroup("pause group") { .pauseGroup($0) })
        routes.post("/queues/:queue/groups/resume", changeGroup("resume group") { .resumeGroup($0) })
    }

    // MARK: The page

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let query = try visit.query(["span", "copy"])
        let span = try query.choice("span", History.Span.self) ?? .minutes
        let status = try await visit.site.store.storage.status(of: queue)
        let found = try status.queue(queue)
        let history = visit.site.live.history(of: queue)
        var fields: Fields = [
            "name": queue.text, "link": Link.queue(queue), "tiles": tiles(found, visit),
            "charts": ChartFields.fields(history, span) {
                Link.page(Link.queue(queue), ["span": $0 == .minutes ? nil : $0.rawValue])
            },
            "notes": QueueNotes.notes(found, workerCount: status.workers.count { $0.isAlive != false }),
            "policy": PolicyForm.sentences(found.policy).map { ["what": $0.0, "how": $0.1] as Fields },
            "totals": totals(found.totals),
            "messagesLink": Link.page("/messages", ["queue": queue.text]),
            "deadLink": Link.page("/dead", ["queue": queue.text]),
            "logLink": "\(Link.queue(queue))/log",
            "cursors": status.cursors.filter { $0.queue == queue && !$0.name.isOfSettings }
                .map { cursor($0, visit.now) },
        ]
        if visit.mayAct(.operate, queue) {
            let waiting = found.depths.waiting + found.depths.pending
            fields["operate"] =
                [
                    "isPaused": found.isPaused, "expected": waiting,
                    "waiting": CountText.format(waiting, "message"), "hasWaiting": waiting > 0,
                ] as Fields
        }
        let source = try await copied(query, found, visit)
        if visit.mayAct(.produce, queue), !found.isDeleting {
            fields["produce"] =
                (source.map { EnqueueForm.fields(copying: $0) } ?? [:])
                .merging(["hasGroups": found.policy.hasGroupKeys]) { $1 }
        }
        if found.policy.hasGroupKeys { fields["groups"] = try await groups(queue, found.policy, visit) }
        return visit.page("queue", queue.text, in: .overview, following: .queue(queue), fields)
    }

    /// The message of the queue of which a copy is to be enqueued, once somebody has changed what was wrong with it.
    private func copied(
        _ query: QueryParameters, _ queue: QueueStatus, _ visit: Visit
    ) async throws -> MessageRecord? {
        guard let sequence = try query.sequence("copy") else { return nil }
        try visit.requireAct(.produce, queue.name)
        // The page has no form then, and would say nothing of what was asked for.
        if queue.isDeleting {
            throw PenstockError(
                .queueDeleting,
                "The queue '\(queue.name)' is being deleted, or copied here and not all of it has come, and takes nothing."
            )
        }
        let record = try await visit.site.store.message(sequence)
        guard record.queue == queue.name else { throw PenstockError.unknown(sequence) }
        guard EnqueueForm.canSay(record) else {
            throw Problem.invalid(
                "Message \(sequence) has what the fields of a form cannot say: it is no text, or too long. A program can enqueue a copy."
            )
        }
        return record
    }

    private func tiles(_ queue: QueueStatus, _ visit: Visit) -> [Fields] {
        let depths: [(MessageState, Int)] = [
            (.ready, queue.depths.ready), (.leased, queue.depths.leased), (.scheduled, queue.depths.scheduled),
            (.blocked, queue.depths.blocked), (.pending, queue.depths.pending), (.dead, queue.depths.dead),
        ]
        var tiles = depths.map { state, count -> Fields in
            [
                "title": state.rawValue, "value": Shown.count(count), "isBad": state == .dead && count > 0,
                "place": Link.page("/messages", ["queue": queue.name.text, "state": state.rawValue]),
            ]
        }
        tiles.append(["title": "ended, in the log", "value": Shown.count(queue.depths.kept)])
        if let since = queue.oldestReady {
            tiles.append(["title": "oldest ready", "value": Shown.age(since, visit.now)])
        }
        let recent = visit.site.live.recent(of: queue.name)
        for (title, histogram) in [("wait", recent.wait), ("work", recent.work)] {
            guard let quantiles = Quantiles(histogram) else { continue }
            tiles.append(["title": "\(title) p50 / p99, last minute", "value": quantiles.text])
        }
        return tiles
    }

    private func totals(_ totals: Totals) -> [Fields] {
        [
            ("enqueued", totals.enqueued), ("done", totals.done), ("became dead letters", totals.dead),
            ("dropped", totals.dropped), ("cancelled", totals.cancelled), ("tried again", totals.retried),
            ("taken back from workers", totals.reclaimed),
        ].map { ["what": $0.0, "count": Shown.count($0.1)] }
    }

    private func cursor(_ cursor: CursorRecord, _ now: Timestamp) -> Fields {
        [
            "name": cursor.name.text, "sequence": "\(cursor.sequence)", "missed": Shown.count(cursor.missed),
            "moved": Shown.time(cursor.movedAt, now),
        ]
    }

    private func groups(_ queue: QueueName, _ policy: QueuePolicy, _ visit: Visit) async throws -> Fields {
        let records = try await visit.site.store.storage.groups(
            GroupQuery(queue: queue, limit: Self.groupCountMax + 1, countMax: Self.blockedCountMax + 1))
        let mayAct = visit.mayAct(.operate, queue) && policy.groups != nil
        let rows = records.prefix(Self.groupCountMax).map { group -> Fields in
            var fields: Fields = [
                "key": group.key, "permitted": Shown.count(group.permitted),
                "blocked": (group.blocked > Self.blockedCountMax ? ">\u{202F}" : "")
                    + Shown.count(min(group.blocked, Self.blockedCountMax)),
                "isPaused": group.isPaused, "weight": group.weight,
                "link": Link.page("/messages", ["queue": queue.text, "group": group.key]),
            ]
            if let sequence = group.heldBy {
                fields["heldBy"] = ["sequence": "\(sequence)", "link": Link.message(sequence)]
            }
            if mayAct {
                let act = group.isPaused ? "resume" : "pause"
                fields["act"] = [
                    "word": act, "link": Link.page("\(Link.queue(queue))/groups/\(act)", ["group": group.key]),
                ]
            }
            return fields
        }
        return [
            "rows": rows, "isMore": records.count > Self.groupCountMax, "hasRows": !rows.isEmpty,
            "isFair": policy.isFair,
        ]
    }

    // MARK: Acts

    @Sendable private func create(_ visit: Visit) async throws -> Response {
        let form = try await visit.form(PolicyForm.names.union(["name"]))
        guard let text = form.text("name") else { throw Problem.invalid("A queue has a name.") }
        let queue = try QueueName(text)
        let policy = try PolicyForm.policy(form)
        let said = try await visit.act("create queue", on: queue.text, queue: queue, .operate) {
            try visit.principal.requireSharing(policy.sharedLimit, insteadOf: nil)
            try await visit.site.store.storage.configure(queue, .create(policy, ifAbsent: false))
            return "The queue '\(queue)' is there."
        }
        return visit.redirect(to: Link.queue(queue), saying: said)
    }

    private func change(_ name: String, _ change: QueueChange, _ outcome: String) -> Routes.Show {
        { visit in
            let queue = try visit.queue()
            let said = try await visit.act("\(name) queue", on: queue.text, queue: queue, .operate) {
                try await visit.site.store.storage.configure(queue, change)
                return "The queue '\(queue)' \(outcome)."
            }
            return visit.redirect(to: Link.queue(queue), saying: said)
        }
    }

    private func changeGroup(_ name: String, _ change: @escaping @Sendable (String) -> QueueChange) -> Routes.Show {
        { visit in
            let queue = try visit.queue()
            guard let group = try visit.query(["group"]).text("group") else { throw Problem.invalid("Name a group.") }
            let said = try await visit.act(name, on: "\(group) of \(queue)", queue: queue, .operate) {
                try await visit.site.store.storage.configure(queue, change(group))
                return "Done: \(name) '\(Escape.text(group))'."
            }
            return visit.redirect(to: Link.queue(queue), saying: said)
        }
    }

    @Sendable private func delete(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let form = try await visit.form(["name", "force"])
        guard form.text("name") == queue.text else {
            throw Problem.invalid("Type the queue's name to delete it; nothing was deleted.")
        }
        let isForced = try form.flag("force")
        let said = try await visit.act("delete queue", on: queue.text, queue: queue, .operate) {
            try await visit.site.store.delete(queue, force: isForced)
            return "The queue '\(queue)' is deleted, with its log."
        }
        return visit.redirect(to: "/", saying: said)
    }

    @Sendable private func cancelWaiting(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let form = try await visit.form(["expected"])
        guard let expected = try form.count("expected", in: 0...Int.max) else {
            throw Problem.invalid("What waits is cancelled with the number that was shown.")
        }
        let said = try await visit.act("cancel all that waits", on: queue.text, queue: queue, .operate) {
            let states: Set<MessageState> = [.pending, .scheduled, .blocked, .ready]
            let count = try await visit.site.store.storage.apply(
                .cancel, to: .queue(queue, states: states, expected: expected))
            return "\(CountText.format(count, "message")) cancelled."
        }
        return visit.redirect(to: Link.queue(queue), saying: said)
    }

    @Sendable private func enqueue(_ visit: Visit) async throws -> Response {
        let queue = try visit.queue()
        let form = try await visit.form(EnqueueForm.names)
        let message = try EnqueueForm.message(form, now: visit.now)
        var place = Link.queue(queue)
        let said = try await visit.act("enqueue", on: queue.text, queue: queue, .produce) {
            let receipts = try await visit.site.store.storage.enqueue([message], to: queue, durability: .powerLoss)
            guard let receipt = receipts.first else {
                throw PenstockError(.queueFull, "The queue '\(queue)' is full; nothing was enqueued.")
            }
            place = Link.message(receipt.sequence)
            guard !receipt.skipped, let state = receipt.state else {
                return "Nothing was enqueued: message \(receipt.sequence) has that key."
            }
            return "Message \(receipt.sequence) is \(state.rawValue)."
        }
        return visit.redirect(to: place, saying: said)
    }
}
