import PenstockCore
import PenstockProcesses

/// Reads what a message waits for, in one snapshot, from rows alone. What it reads is bounded, whatever waits beside the message.
struct WaitReader {
    private let connection: Connection
    private let time: any TimeSource
    private let locks: any WorkerLocks

    /// Answers one call of ``MessageStore/waitReason(of:)``.
    static func reason(
        of sequence: SequenceNumber, _ connection: Connection, _ time: any TimeSource, _ locks: any WorkerLocks
    ) throws -> WaitReason {
        let reader = WaitReader(connection: connection, time: time, locks: locks)
        guard let record = try reader.records([sequence.rawValue]).first,
            let queue = try PolicyCache().row(named: record.queue, reader.connection)
        else {
            throw PenstockError.unknown(sequence)
        }
        var reason = WaitReason(message: record)
        switch record.state {
        case .done, .dead, .dropped, .cancelled: break
        case .leased: reason.holder = try reader.holder(of: record)
        case .scheduled:
            reason.causes = try reader.scheduled(record)
            if let due = record.due, due <= time.now {
                reason.causes += try reader.startCauses(queue) + reader.noWorker()
            }
        case .pending: reason.causes = try reader.pending(record)
        case .blocked: reason.causes = try reader.blocked(record, queue)
        case .ready: reason.causes = try reader.ready(record, queue)
        }
        if !record.state.isFinished, record.state != .leased {
            reason.causes = try reader.closed(queue) + reason.causes
        }
        return reason
    }

    private func records(_ sequences: [Int64]) throws -> [MessageRecord] {
        if sequences.isEmpty { return [] }
        return try MessageReader.messages(
            MessageQuery(sequences: sequences.map { SequenceNumber($0) }, limit: sequences.count), connection, time
        ).records
    }

    /// What keeps all messages of the queue.
    private func closed(_ queue: QueueRow) throws -> [WaitReason.Cause] {
        var causes: [WaitReason.Cause] = []
        if queue.isDeleting { causes.append(.queueDeleting) }
        if queue.isPaused { causes.append(.queuePaused) }
        if try Groups.isNoted(queue.id, connection) { causes.append(.policyChange) }
        return causes
    }

    // MARK: Scheduled and pending

    private func scheduled(_ record: MessageRecord) throws -> [WaitReason.Cause] {
        let sequence = record.sequence.rawValue
        var causes: [WaitReason.Cause] = []
        if let event = try Awaiting.name(of: sequence, connection) {
            causes.append(.event(EventName(stored: event)))
        }
        guard let due = record.due else { return causes }
        let marks = try connection.first(readMarks, .integer(sequence)) { Marks(rawValue: $0.integer(0)) } ?? []
        if !marks.isDisjoint(with: [.suspended, .awaitsEvent]) { return causes + [.due(due, .suspended)] }
        if try connection.has(hasAttempt, .integer(sequence), .integer(Int64(record.attempt))) {
            return [.due(due, .retry)]
        }
        // Another worker than the one that has stopped to wait may have put it off since, and a row of an earlier release has no mark.
        return [.due(due, try Journals.hasSteps(sequence, connection) ? .suspended : .asEnqueued)]
    }

    private func pending(_ record: MessageRecord) throws -> [WaitReason.Cause] {
        let open = try connection.all(
            selectOpen, .integer(record.sequence.rawValue), .integer(Int64(WaitReason.namedMax) + 1)
        ) { row in
            (parent: row.integer(0), task: row.text(1).map(TaskName.init(stored:)), holdsOn: row.integer(2) != 0)
        }
        let named = open.prefix(WaitReason.namedMax)
        var causes: [WaitReason.Cause] = []
        for other in try records(named.map(\.parent)) {
            guard let task = named.first(where: { $0.parent == other.sequence.rawValue }) else { continue }
            // One that has ended otherwise is about to be told to this one.
            if other.state.isFinished, other.state != .dead || !task.holdsOn { continue }
            causes.append(.task(try self.other(other, task: task.task)))
        }
        if open.count > WaitReason.namedMax { causes.append(.moreTasks) }
        return causes.isEmpty ? [.untold] : causes
    }

    // MARK: Blocked

    private func blocked(_ record: MessageRecord, _ queue: QueueRow) throws -> [WaitReason.Cause] {
        guard let key = record.group else { return [] }
        let group = Group(account: QueueAccount(queue), key: key)
        var causes: [WaitReason.Cause] = []
        if try Permits.isPaused(group, connection) { causes.append(.groupPaused) }
        causes += try groupTime(queue, key)
        let areInTheWay = try Permits.keepOut(record.sequence.rawValue, of: group, connection)
        let limit = Value.integer(areInTheWay ? Int64(WaitReason.namedMax) + 1 : 0)
        let holders = try connection.all(selectPermits, .integer(queue.id), .text(key), limit) { $0.integer(0) }
        for other in try records(Array(holders.prefix(WaitReason.namedMax))) {
            causes.append(.permit(try self.other(other)))
        }
        if holders.count > WaitReason.namedMax { causes.append(.morePermits) }
        let before = try countBefore(record, group)
        if before > 0 { causes.append(.before(WaitReason.Count(before))) }
        return causes
    }

    private func groupTime(_ queue: QueueRow, _ key: String) throws -> [WaitReason.Cause] {
        let row = try connection.first(readGroupRate, .integer(queue.id), .text(key)) {
            (
                tat: $0.integer(0), heldUntil: $0.integer(1), opensAt: $0.integer(2),
                reading: RateClock.Reading(clock: $0.text(3), offset: $0.integer(4))
            )
        }
        guard let row else { return [] }
        var causes: [WaitReason.Cause] = []
        if row.heldUntil > time.now.microseconds {
            causes.append(.groupHeld(until: Timestamp(microseconds: row.heldUntil)))
        }
        if row.reading.clock != time.boot.bootID {
            if queue.policy.ratePerKey != nil { causes.append(.groupRate(opens: nil)) }
        } else if let opens = opening(RateMeter(queue.policy.ratePerKey), row.tat) {
            causes.append(.groupRate(opens: opens))
        } else if causes.isEmpty, row.opensAt > time.boot.microseconds, row.reading.isCurrent(time.boot, time.now) {
            // Neither is in the way any more, and the group is looked at then.
            causes.append(.groupRate(opens: RateClock.wall(row.opensAt, time.boot, time.now)))
        }
        return causes
    }

    /// How many blocked messages of a group have a permit before this one, up to one more than are told.
    ///
    /// They lie by priority and then by sequence, so those of each priority that come before it are one search.
    private func countBefore(_ record: MessageRecord, _ group: Group) throws -> Int {
        var found = 0
        if group.isInOrder {
            let (id, sequence) = (Value.integer(group.account.id), Value.integer(record.sequence.rawValue))
            let goesFirst = try connection.integer(readGoesFirst, id, sequence) ?? 0 != 0
            let limit = Value.integer(Int64(WaitReason.countMax) + 1)
            let firsts =
                try connection.integer(
                    countGoFirst, id, .text(group.key), goesFirst ? .integer(0) : sequence,
                    goesFirst ? sequence : .integer(.max), limit) ?? 0
            if goesFirst { return Int(firsts) }
            // Those with lower numbers are counted with all that have them.
            found = Int(firsts)
        }
        var above = Int64(Limits.priorityRange.upperBound) + 1
        while found <= WaitReason.countMax,
            let priority = try connection.integer(
                nextPriority, .integer(group.account.id), .text(group.key), .integer(above))
        {
            above = priority
            if !group.isInOrder, priority < record.priority { break }
            let isWhole = !group.isInOrder && priority > record.priority
            let count = try connection.integer(
                countBlocked, .integer(group.account.id), .text(group.key), .integer(priority),
                .integer(isWhole ? .max : record.sequence.rawValue), .integer(Int64(WaitReason.countMax) + 1))
            found += Int(count ?? 0)
        }
        return found
    }

    // MARK: Ready

    /// What keeps workers from starting anything of the queue, for a message that is ready or due.
    private func startCauses(_ queue: QueueRow) throws -> [WaitReason.Cause] {
        var causes: [WaitReason.Cause] = []
        if let limit = queue.policy.limit {
            let leased = try connection.integer(LeaseLimits.readLeased, .integer(queue.id)) ?? 0
            if leased >= Int64(limit) { causes.append(.limit(limit, leased: number(leased))) }
        }
        if let name = queue.policy.sharedLimit,
            let (count, leased) = try connection.first(
                readSharedLimit, .text(name.text), read: { ($0.integer(0), $0.integer(1)) }),
            leased >= count
        {
            causes.append(.sharedLimit(name, number(count), leased: number(leased)))
        }
        if let rate = queue.policy.rate,
            let (tat, clock) = try connection.first(
                readRate, .integer(queue.id), read: { ($0.optionalInteger(0), $0.text(1)) }), let tat
        {
            if clock != time.boot.bootID {
                causes.append(.rate(opens: nil))
            } else if let opens = opening(RateMeter(rate), tat) {
                causes.append(.rate(opens: opens))
            }
        }
        return causes
    }

    private func noWorker() throws -> [WaitReason.Cause] {
        try LivingWorkers(connection, at: time, locks).isEmpty ? [.noWorker] : []
    }

    private func ready(_ record: MessageRecord, _ queue: QueueRow) throws -> [WaitReason.Cause] {
        var causes = try startCauses(queue)
        let turn = try Turns.turn(of: record.sequence.rawValue, QueueAccount(queue), connection)
        let limit = Value.integer(Int64(WaitReason.countMax) + 1)
        let (id, priority) = (Value.integer(queue.id), Value.integer(Int64(record.priority)))
        let ahead =
            try (connection.integer(countMoreUrgent, id, priority, limit) ?? 0)
            + (connection.integer(
                countEarlier, id, priority, .integer(turn), .integer(record.sequence.rawValue), limit) ?? 0)
        if ahead > 0 { causes.append(.ahead(WaitReason.Count(Int(ahead)))) }
        return try causes + noWorker()
    }

    /// When a rate lets the next message start; `nil` when it may start now.
    private func opening(_ meter: RateMeter, _ tat: Int64) -> Timestamp? {
        let moment = meter.opens(tat, at: time.boot.microseconds)
        return moment > time.boot.microseconds ? RateClock.wall(moment, time.boot, time.now) : nil
    }

    private func number(_ stored: Int64) -> Int { Int(stored.clamped(to: StoredRange.leased)) }

    // MARK: Others

    private func other(_ record: MessageRecord, task: TaskName? = nil) throws -> WaitReason.Other {
        WaitReason.Other(
            sequence: record.sequence, state: record.state, task: task, due: record.due, holder: try holder(of: record))
    }

    private func holder(of record: MessageRecord) throws -> WaitReason.Holder? {
        guard let id = record.worker else { return nil }
        let name = try connection.first(Attempts.readWorker, .integer(id)) { $0.text(0) ?? "" }
        return WaitReason.Holder(
            worker: id, name: name ?? "",
            isAlive: try LivingWorkers(connection, at: time, locks).isAlive(id))
    }
}

private let readMarks = Query("SELECT marks FROM penstock_scheduled WHERE sequence = ?1")
private let hasAttempt = Query("SELECT 1 FROM penstock_attempt WHERE sequence = ?1 AND attempt = ?2")
// A dead letter is waited for where it may be redriven.
private let selectOpen = Query(
    """
    SELECT dependency.parent, task.name, dependency.need = 'done' AND dependency.when_dead = 'hold'
    FROM penstock_dependency AS dependency LEFT JOIN penstock_task AS task ON task.sequence = dependency.parent
    WHERE dependency.child = ?1 AND dependency.state = 'open' LIMIT ?2
    """)
private let readGroupRate = Query(
    """
    SELECT tat, held_until, opens_at, (SELECT clock FROM penstock_rate WHERE queue_id = ?1),
        (SELECT wall_offset FROM penstock_rate WHERE queue_id = ?1)
    FROM penstock_group_rate WHERE queue_id = ?1 AND group_key = ?2 AND opens_at IS NOT NULL
    """)
private let selectPermits = Query(
    "SELECT sequence FROM penstock_permit WHERE queue_id = ?1 AND group_key = ?2 ORDER BY sequence LIMIT ?3")
private let nextPriority = Query(
    """
    SELECT priority FROM penstock_blocked WHERE queue_id = ?1 AND group_key = ?2 AND priority < ?3
    ORDER BY priority DESC LIMIT 1
    """)
private let countBlocked = Query(
    """
    SELECT count(*) FROM (SELECT 1 FROM penstock_blocked
        WHERE queue_id = ?1 AND group_key = ?2 AND priority = ?3 AND sequence < ?4 LIMIT ?5) AS found
    """)
private let readGoesFirst = Query(
    "SELECT marks & \(Marks.goesFirst.rawValue) FROM penstock_blocked WHERE queue_id = ?1 AND sequence = ?2")
// Of a group in order those that go first, with numbers between two others.
private let countGoFirst = Query(
    """
    SELECT count(*) FROM (SELECT 1 FROM penstock_blocked WHERE queue_id = ?1 AND group_key = ?2
        AND marks & \(Marks.goesFirst.rawValue) AND sequence > ?3 AND sequence < ?4 LIMIT ?5) AS found
    """)
private let readSharedLimit = Query(
    """
    SELECT shared.count, (SELECT CAST(total(depth.leased) AS BIGINT) FROM penstock_queue AS queue
        JOIN penstock_depth AS depth ON depth.queue_id = queue.id WHERE queue.share_limit = shared.name)
    FROM penstock_limit AS shared WHERE shared.name = ?1
    """)
private let readRate = Query("SELECT tat, clock FROM penstock_rate WHERE queue_id = ?1")
private let countMoreUrgent = Query(
    """
    SELECT count(*) FROM (SELECT 1 FROM penstock_ready WHERE queue_id = ?1 AND priority > ?2 LIMIT ?3) AS found
    """)
private let countEarlier = Query(
    """
    SELECT count(*) FROM (SELECT 1 FROM penstock_ready
        WHERE queue_id = ?1 AND priority = ?2 AND (turn, sequence) < (?3, ?4) LIMIT ?5) AS found
    """,
    // A server would look on to the end of the line.
    server: """
        SELECT count(*) FROM (
            SELECT 1 FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2 AND turn < ?3
            UNION ALL
            SELECT 1 FROM penstock_ready WHERE queue_id = ?1 AND priority = ?2 AND turn = ?3 AND sequence < ?4
            LIMIT ?5
        ) AS found
        """)
