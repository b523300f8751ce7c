import HTTPTypes
import Hummingbird
import NIOCore
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `/messages/NUMBER`: everything about one message, and what may be done to it.
struct MessagePages {
    func add(to routes: Routes) {
        routes.get("/messages/:sequence", show)
        routes.get("/messages/:sequence/payload", download)
        for command in [LineCommand.requestCancel(), .redrive, .discard] {
            routes.post("/messages/:sequence/\(Self.word(command))", move(command))
        }
    }

    // MARK: The page

    @Sendable private func show(_ visit: Visit) async throws -> Response {
        let query = try visit.query(["show"])
        let record = try await Self.record(visit)
        let storage = visit.site.store.storage
        let journal = try await storage.journal(of: record.sequence)
        let reason = try await visit.principal.told(try await storage.waitReason(of: record.sequence), by: storage)
        let payload = record.payload ?? []
        let form = try query.choice("show", PayloadText.Form.self) ?? PayloadText.form(of: payload)
        let link = Link.message(record.sequence)
        var fields: Fields = [
            "sequence": "\(record.sequence)", "link": link, "queue": record.queue.text,
            "queueLink": Link.queue(record.queue), "state": Shown.state(record.state),
            "why": WaitText.lines(reason, at: visit.now),
            "facts": facts(record, journal), "timeline": timeline(record, visit.now),
            "attempts": record.attempts.map { attempt($0, visit.now) }, "hasAttempts": !record.attempts.isEmpty,
            "headers": record.headers.sorted { $0.key < $1.key }.map { ["name": $0.key, "value": $0.value] },
            "hasHeaders": !record.headers.isEmpty,
            "payload": [
                "bytes": Shown.bytes(payload.count), "text": PayloadText.text(payload, form), "link": "\(link)/payload",
                "isCut": payload.count > (form == .hex ? PayloadText.hexBytesMax : PayloadText.textBytesMax),
                "forms": PayloadText.Form.allCases.map {
                    ["word": $0.rawValue, "link": "\(link)?show=\($0.rawValue)", "isChosen": $0 == form] as Fields
                },
            ] as Fields,
            "steps": steps(journal.steps, visit.now), "hasSteps": !journal.steps.isEmpty,
        ]
        // How far the work has come, and that its worker was asked to end, no number of the queue tells.
        fields["isRunning"] = record.state == .leased
        if let reason = record.reason { fields["reason"] = reason.rawValue }
        if let result = journal.result {
            fields["result"] = [
                "bytes": Shown.bytes(result.count), "text": PayloadText.text(result, PayloadText.form(of: result)),
            ]
        }
        if let progress = record.progress {
            fields["progress"] =
                [
                    "text": Shown.progress(progress.progress),
                    "time": Shown.time(progress.reportedAt, visit.now),
                ] as Fields
        }
        if visit.mayAct(.operate, record.queue) { fields["acts"] = acts(record) }
        if visit.mayAct(.produce, record.queue), EnqueueForm.canSay(record) {
            fields["copyLink"] =
                Link.page(Link.queue(record.queue), ["copy": "\(record.sequence)"]) + "#enqueue"
        }
        return visit.page(
            "message", "Message \(record.sequence)", in: .messages, following: .queue(record.queue), fields)
    }

    /// The message that the path names, if its queue is one at which the visitor may look. To anybody else it is not there: what he
    /// may not see he is not told of.
    private static func record(_ visit: Visit) async throws -> MessageRecord {
        let sequence = try visit.context.parameters.sequence()
        let record = try await visit.site.store.message(sequence)
        guard visit.mayRead(record.queue) else {
            throw PenstockError.unknown(sequence)
        }
        return record
    }

    private func facts(_ record: MessageRecord, _ journal: MessageJournal) -> [Fields] {
        var facts: [Fields] = [
            ["what": "attempts", "value": "\(record.attempt) of \(record.attemptsMax)"],
            ["what": "priority", "value": "\(record.priority)"],
        ]
        if let key = record.uniqueKey {
            facts.append([
                "what": "unique key", "value": KeyScope.text(of: key, record.keyScope),
                "place": Link.page("/messages", ["queue": record.queue.text, "key": key]),
            ])
        }
        if let group = record.group {
            facts.append([
                "what": "group", "value": group,
                "place": Link.page("/messages", ["queue": record.queue.text, "group": group]),
            ])
        }
        if let origin = record.origin {
            facts.append(["what": "replay of", "value": "message \(origin)", "place": Link.message(origin)])
        }
        if let task = journal.task {
            facts.append([
                "what": "task", "value": "\(task.task) of \(task.workflow)", "place": Link.workflow(task.workflow),
            ])
        }
        if let worker = record.worker { facts.append(["what": "worker", "value": "\(worker)", "place": "/workers"]) }
        if let event = journal.awaited { facts.append(["what": "waits for the event", "value": event.text]) }
        for (what, header) in [("trace", "traceparent"), ("kind", KindName.header)] {
            if let value = record.headers[header] { facts.append(["what": what, "value": value]) }
        }
        return facts
    }

    private func timeline(_ record: MessageRecord, _ now: Timestamp) -> [Fields] {
        var moments: [(Timestamp, String)] = [(record.enqueuedAt, "enqueued")]
        for attempt in record.attempts {
            moments.append((attempt.startedAt, "attempt \(attempt.attempt) began"))
            moments.append((attempt.endedAt, "attempt \(attempt.attempt): \(attempt.outcome.rawValue)"))
        }
        if let claimed = record.claimedAt { moments.append((claimed, "attempt \(record.attempt) began")) }
        if let end = record.leaseEndsAt { moments.append((end, "end of its lease")) }
        if let asked = record.cancelRequestedAt { moments.append((asked, "its worker was asked to end")) }
        if let finished = record.finishedAt { moments.append((finished, record.state.rawValue)) }
        if let due = record.due { moments.append((due, "due")) }
        if let expires = record.expiresAt, !record.state.isFinished { moments.append((expires, "expires")) }
        return moments.enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }.map {
            ["what": $0.element.1, "time": Shown.time($0.element.0, now), "isAhead": $0.element.0 > now]
        }
    }

    private func attempt(_ attempt: AttemptRecord, _ now: Timestamp) -> Fields {
        [
            "number": "\(attempt.attempt)", "outcome": attempt.outcome.rawValue, "error": attempt.error,
            "worker": attempt.worker, "started": Shown.time(attempt.startedAt, now),
            "took": DurationText.short(attempt.endedAt - attempt.startedAt),
        ]
    }

    /// Bytes of results of steps that the page shows: a journal may have megabytes.
    private static let stepBytesMax = 256 * 1024

    private func steps(_ steps: [StepRecord], _ now: Timestamp) -> [Fields] {
        var room = Self.stepBytesMax
        return steps.map { step in
            room -= min(step.result.count, PayloadText.textBytesMax)
            var fields: Fields = [
                "name": step.name.text, "time": Shown.time(step.recordedAt, now),
                "bytes": Shown.bytes(step.result.count), "isLeftOut": room < 0,
            ]
            if room >= 0 { fields["text"] = PayloadText.text(step.result, PayloadText.form(of: step.result)) }
            return fields
        }
    }

    private func acts(_ record: MessageRecord) -> [Fields] {
        [LineCommand.redrive, .requestCancel(), .discard].filter { $0.states.contains(record.state) }.map { command in
            let title =
                switch command {
                case .redrive: record.state == .dead ? "Redrive" : "Make ready now"
                case .discard: "Discard"
                default: record.state == .leased ? "Ask its worker to end" : "Cancel"
                }
            return [
                "title": title, "link": "\(Link.message(record.sequence))/\(Self.word(command))",
                "isGrave": command != .redrive,
            ]
        }
    }

    // MARK: Acts

    /// The whole payload, as a file that no browser takes for anything to show or run.
    @Sendable private func download(_ visit: Visit) async throws -> Response {
        let record = try await Self.record(visit)
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/octet-stream",
                .contentDisposition: "attachment; filename=\"message-\(record.sequence).bin\"",
            ], body: ResponseBody(byteBuffer: ByteBuffer(bytes: record.payload ?? [])))
    }

    private static func word(_ command: LineCommand) -> String {
        switch command {
        case .cancel, .requestCancel: "cancel"
        case .redrive: "redrive"
        case .discard: "discard"
        }
    }

    private func move(_ command: LineCommand) -> Routes.Show {
        { visit in
            let record = try await Self.record(visit)
            let word = Self.word(command)
            let said = try await visit.act(word, on: "message \(record.sequence)", queue: record.queue, .operate) {
                _ = try await visit.site.store.storage.apply(command, to: [record.sequence])
                return record.state == .leased
                    ? "The worker of message \(record.sequence) is asked to end."
                    : "Done: \(word) message \(record.sequence)."
            }
            return visit.redirect(to: Link.message(record.sequence), saying: said)
        }
    }
}
