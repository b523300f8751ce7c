package import PenstockCore

extension MessageQuery.End: WireCase {
    package static var allCases: [MessageQuery.End] { [.first, .last] }
}

extension MessageFilter: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(uniqueKey, headers, payloadContains, errorContains, signature)
    }

    package init(from reader: inout WireReader) throws {
        self.init(
            uniqueKey: try reader(), headers: try reader(), payloadContains: try reader(),
            errorContains: try reader(), signature: try reader())
    }
}

extension ErrorSignature: WireValue {
    package func write(to writer: inout WireWriter) { writer(reason, error) }
    package init(from reader: inout WireReader) throws { self.init(try reader(), try reader()) }
}

extension MessageQuery: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(queue, sequences, group, matching, states, after, preceding)
        writer(since, before, end, limit, lookMax, withPayload, withAttempts)
    }

    package init(from reader: inout WireReader) throws {
        self.init(
            queue: try reader(), sequences: try reader(), group: try reader(), matching: try reader(),
            states: try reader(), after: try reader(), preceding: try reader(), since: try reader(),
            before: try reader(), end: try reader(), limit: try reader(), lookMax: try reader(),
            withPayload: try reader(), withAttempts: try reader())
    }
}

extension MessagePage: WireValue {
    package func write(to writer: inout WireWriter) { writer(records, next) }
    package init(from reader: inout WireReader) throws { self.init(records: try reader(), next: try reader()) }
}

extension MessageRecord: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(sequence, queue, state, reason, priority, attempt, attemptsMax, enqueuedAt, due, expiresAt, claimedAt)
        writer(worker, cancelRequestedAt, progress, finishedAt, uniqueKey, keyScope, group, headers, origin)
        writer(payloadBytes, payload, attempts)
    }

    package init(from reader: inout WireReader) throws {
        self.init(
            sequence: try reader(), queue: try reader(), state: try reader(), reason: try reader(),
            priority: try reader(), attempt: try reader(), attemptsMax: try reader(), enqueuedAt: try reader(),
            due: try reader(), expiresAt: try reader(), claimedAt: try reader(), worker: try reader(),
            cancelRequestedAt: try reader(), progress: try reader(), finishedAt: try reader(),
            uniqueKey: try reader(), keyScope: try reader(), group: try reader(), headers: try reader(),
            origin: try reader(), payloadBytes: try reader(), payload: try reader(), attempts: try reader())
    }
}

extension ProgressRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(progress, reportedAt) }
    package init(from reader: inout WireReader) throws { self.init(try reader(), reportedAt: try reader()) }
}

extension AttemptRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(attempt, outcome, error, worker, startedAt, endedAt) }

    package init(from reader: inout WireReader) throws {
        self.init(
            attempt: try reader(), outcome: try reader(), error: try reader(), worker: try reader(),
            startedAt: try reader(), endedAt: try reader())
    }
}

extension DeadGroupQuery: WireValue {
    package func write(to writer: inout WireWriter) { writer(queue, preceding, lookMax) }
    package init(from reader: inout WireReader) throws {
        self.init(queue: try reader(), preceding: try reader(), lookMax: try reader())
    }
}

extension DeadGroup: WireValue {
    package func write(to writer: inout WireWriter) { writer(queue, signature, count, firstAt, lastAt, example) }

    package init(from reader: inout WireReader) throws {
        self.init(
            queue: try reader(), signature: try reader(), count: try reader(), firstAt: try reader(),
            lastAt: try reader(), example: try reader())
    }
}

extension DeadGroupPage: WireValue {
    package func write(to writer: inout WireWriter) { writer(groups, lookedAt, next) }
    package init(from reader: inout WireReader) throws {
        self.init(groups: try reader(), lookedAt: try reader(), next: try reader())
    }
}
