import Penstock
import PenstockFormats

/// Tables of messages, for people.
enum MessageTables {
    static let previewColumns = 60

    static func list() -> Table {
        Table([
            .number("SEQUENCE"), .text("QUEUE", widthMax: 30), .text("STATE"), .text("ATTEMPT"), .number("PRIORITY"),
            .text("ENQUEUED"), .text("DUE"), .number("BYTES"), .text("PAYLOAD", widthMax: previewColumns),
        ])
    }

    static func listRow(_ record: MessageRecord) -> [String] {
        [
            "\(record.sequence)", Escape.text(record.queue.text), stateText(record),
            "\(record.attempt)/\(record.attemptsMax)", "\(record.priority)", TimeText.short(record.enqueuedAt),
            record.due.map(TimeText.short) ?? "", "\(record.payloadBytes)", preview(record.payload ?? []),
        ]
    }

    static func dead() -> Table {
        Table([
            .number("SEQUENCE"), .text("QUEUE", widthMax: 30), .number("ATTEMPTS"), .text("DIED"), .text("REASON"),
            .text("LAST ERROR", widthMax: previewColumns), .text("PAYLOAD", widthMax: 40),
        ])
    }

    static func deadRow(_ record: MessageRecord) -> [String] {
        [
            "\(record.sequence)", Escape.text(record.queue.text), "\(record.attempt)",
            record.finishedAt.map(TimeText.short) ?? "", record.reason?.rawValue ?? "",
            preview(Array((record.attempts.last?.error ?? "").utf8)), preview(record.payload ?? []),
        ]
    }

    /// One message of a log, on a line of its own: what follows is not known yet, so nothing can be put in line.
    static func logLine(_ record: MessageRecord) -> String {
        let payload = preview(record.payload ?? [], columns: 200)
        return "\(TimeText.format(record.enqueuedAt))  \(record.sequence)  \(stateText(record))  \(payload)"
    }

    /// A message that is redriven has all its attempts again, and goes on with their numbers.
    private static func attemptText(_ record: MessageRecord) -> String {
        record.attempt <= record.attemptsMax
            ? "\(record.attempt) of \(record.attemptsMax)"
            : "\(record.attempt), at most \(record.attemptsMax) since it was redriven"
    }

    static func details(_ record: MessageRecord, _ journal: MessageJournal) -> [String] {
        var facts: [(String, String)] = [
            ("sequence", "\(record.sequence)"), ("queue", Escape.text(record.queue.text)),
            ("state", stateText(record)), ("priority", "\(record.priority)"),
            ("attempt", attemptText(record)),
            ("enqueued", TimeText.format(record.enqueuedAt)),
        ]
        if let due = record.due { facts.append(("due", TimeText.format(due))) }
        if let expiresAt = record.expiresAt { facts.append(("expires", TimeText.format(expiresAt))) }
        if let claimedAt = record.claimedAt { facts.append(("claimed", TimeText.format(claimedAt))) }
        if let endsAt = record.leaseEndsAt { facts.append(("lease", "until \(TimeText.format(endsAt))")) }
        if let worker = record.worker { facts.append(("worker", "\(worker)")) }
        if let askedAt = record.cancelRequestedAt { facts.append(("cancel", "asked for \(TimeText.format(askedAt))")) }
        if let progress = record.progress {
            facts.append(("progress", "\(progressText(progress)) (\(TimeText.format(progress.reportedAt)))"))
        }
        if let finishedAt = record.finishedAt { facts.append(("finished", TimeText.format(finishedAt))) }
        if let key = record.uniqueKey { facts.append(("key", KeyScope.text(of: key, record.keyScope))) }
        if let group = record.group { facts.append(("group", Escape.text(group))) }
        if let origin = record.origin { facts.append(("origin", "\(origin)")) }
        if let task = journal.task {
            facts.append(("task", "\(Escape.text(task.task.text)) of \(Escape.text(task.workflow.text))"))
        }
        if let awaited = journal.awaited { facts.append(("awaits", Escape.text(awaited.text))) }
        for (name, value) in record.headers.sorted(by: { $0.key < $1.key }) {
            facts.append(("header", "\(Escape.text(name))=\(Escape.text(value))"))
        }
        for attempt in record.attempts {
            let ended = TimeText.format(attempt.endedAt)
            let took = DurationText.short(attempt.endedAt - attempt.startedAt)
            facts.append(
                (
                    "attempt \(attempt.attempt)",
                    "\(attempt.outcome.rawValue) \(ended) after \(took) by \(Escape.text(attempt.worker)): "
                        + Escape.text(attempt.error)
                ))
        }
        for step in journal.steps {
            let text = "\(Escape.text(step.name.text)) \(TimeText.format(step.recordedAt)): \(preview(step.result))"
            facts.append(("step", text))
        }
        if let result = journal.result {
            facts.append(("result", "\(result.count) bytes: \(preview(result, columns: 200))"))
        }
        facts.append(("payload", "\(record.payloadBytes) bytes: \(Escape.bytes((record.payload ?? [])[...]))"))
        return Table.lines(of: facts)
    }

    private static func progressText(_ record: ProgressRecord) -> String {
        let percent = record.progress.fraction.map { "\(Int(($0 * 100).rounded(.down)))%" }
        return [percent, Escape.text(record.progress.text)].compactMap(\.self).filter { !$0.isEmpty }.joined(
            separator: " ")
    }

    private static func stateText(_ record: MessageRecord) -> String {
        if record.cancelRequestedAt != nil { return "\(record.state.rawValue) (to be cancelled)" }
        return record.reason.map { "\(record.state.rawValue) (\($0.rawValue))" } ?? record.state.rawValue
    }

    /// The beginning of `bytes`, made safe. Looks at no more of them than can be seen.
    static func preview(_ bytes: [UInt8], columns: Int = previewColumns) -> String {
        // A character has at most four bytes in UTF-8, and marks on top of others are cut with the column they are on.
        let most = columns * 4 + 4
        let beginning = Escape.bytes(bytes.prefix(most))
        return Columns.cut(bytes.count > most ? beginning + "…" : beginning, to: columns)
    }
}
