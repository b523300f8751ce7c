package import PenstockCore

extension MessageQuery.End: WireCase {
    package static var allCases: [MessageQuery.End] { [.first, .last] }
}

extension MessageFilter: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(uniqueKey, headers, payloadContains, errorContains, signature)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            uniqueKey: reader(), headers: reader(), payloadContains: reader(), errorContains: reader(),
            signature: reader())
    }
}

extension ErrorSignature: WireValue {
    package func write(to writer: inout WireWriter) { writer(reason, error) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), reader()) }
}

extension MessageQuery: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(queue, sequences, group, matching, states, after, preceding)
        writer(since, before, end, limit, lookMax, withPayload, withAttempts)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            queue: reader(), sequences: reader(), group: reader(), matching: reader(), states: reader(),
            after: reader(), preceding: reader(), since: reader(), before: reader(), end: reader(), limit: reader(),
            lookMax: reader(), withPayload: reader(), withAttempts: reader())
    }
}

extension MessagePage: WireValue {
    package func write(to writer: inout WireWriter) { writer(records, next) }
    package init(from reader: inout WireReader) throws { try self.init(records: reader(), next: reader()) }
}

extension MessageRecord: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(sequence, queue, state, reason, priority, attempt, attemptsMax, enqueuedAt, due, expiresAt, claimedAt)
        writer(leaseEndsAt, worker, cancelRequestedAt, progress, finishedAt, uniqueKey, keyScope, group, headers)
        writer(origin, payloadBytes, payload, attempts)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            sequence: reader(), queue: reader(), state: reader(), reason: reader(), priority: reader(),
            attempt: reader(), attemptsMax: reader(), enqueuedAt: reader(), due: reader(), expiresAt: reader(),
            claimedAt: reader(), leaseEndsAt: reader(), worker: reader(), cancelRequestedAt: reader(),
            progress: reader(), finishedAt: reader(), uniqueKey: reader(), keyScope: reader(), group: reader(),
            headers: reader(), origin: reader(), payloadBytes: reader(), payload: reader(), attempts: reader())
    }
}

extension ProgressRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(progress, reportedAt) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), reportedAt: reader()) }
}

extension AttemptRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(attempt, outcome, error, worker, startedAt, endedAt) }

    package init(from reader: inout WireReader) throws {
        try self.init(
            attempt: reader(), outcome: reader(), error: reader(), worker: reader(), startedAt: reader(),
            endedAt: reader())
    }
}

extension DeadGroupQuery: WireValue {
    package func write(to writer: inout WireWriter) { writer(queue, preceding, lookMax) }
    package init(from reader: inout WireReader) throws {
        try self.init(queue: reader(), preceding: reader(), lookMax: reader())
    }
}

extension DeadGroup: WireValue {
    package func write(to writer: inout WireWriter) { writer(queue, signature, count, firstAt, lastAt, example) }

    package init(from reader: inout WireReader) throws {
        try self.init(
            queue: reader(), signature: reader(), count: reader(), firstAt: reader(), lastAt: reader(),
            example: reader())
    }
}

extension DeadGroupPage: WireValue {
    package func write(to writer: inout WireWriter) { writer(groups, lookedAt, next) }
    package init(from reader: inout WireReader) throws {
        try self.init(groups: reader(), lookedAt: reader(), next: reader())
    }
}
