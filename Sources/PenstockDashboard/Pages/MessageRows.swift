import PenstockCore

/// Messages as rows of a table.
enum MessageRows {
    static func row(_ record: MessageRecord, _ now: Timestamp) -> Fields {
        var fields: Fields = [
            "sequence": "\(record.sequence)", "link": Link.message(record.sequence), "queue": record.queue.text,
            "queueLink": Link.queue(record.queue), "state": Shown.state(record.state),
            "attempt": "\(record.attempt) of \(record.attemptsMax)", "time": Shown.time(record.enqueuedAt, now),
            "bytes": Shown.bytes(record.payloadBytes), "key": record.uniqueKey ?? "", "group": record.group ?? "",
        ]
        if let reason = record.reason { fields["reason"] = reason.rawValue }
        if let due = record.due { fields["due"] = Shown.time(due, now) }
        return fields
    }
}
