import PenstockCore
import PenstockTestKit
import Testing

/// One store in the course of a random life: its harness, the handles that are open, and the leases that were given.
final class LifeWorld {
    let harness: any StoreHarness
    private var handles: [any MessageStore] = []
    private(set) var leases: [Lease] = []
    /// The highest sequence number that a receipt has shown.
    private(set) var last = 0
    /// Messages that were accepted, and those of them that the store was told to forget.
    private(set) var accepted = 0
    private(set) var forgotten = 0
    /// Messages whose workers were seen to be asked to end.
    private var asked: Set<SequenceNumber> = []
    /// What was found that no store may do.
    private(set) var violations: [String] = []
    /// Queues that are or were shared fairly: what has a turn from then keeps it.
    private var shared: Set<QueueName> = []
    /// Whether a worker has put off the starts of a group.
    private var hasHeld = false
    private var starts = LifeStarts()
    /// How often all that the store holds was read.
    private var lookCount = 0

    init(_ harness: any StoreHarness) async throws {
        self.harness = harness
        for _ in 0..<StepSource.handleCount { handles.append(try await harness.open()) }
    }

    func closeAll() async {
        for handle in handles { try? await handle.close() }
    }

    /// Carries out a step, and tells in text what came of it: the same text for the same answer.
    func perform(_ step: Step) async throws -> String {
        do {
            return try await outcome(of: step)
        } catch let error as PenstockError {
            return "error \(error.code.rawValue)"
        }
    }

    private func outcome(of step: Step) async throws -> String {
        switch step {
        case .enqueue(let handle, let queue, let messages):
            return try await enqueue(messages, to: queue, by: handles[handle])
        case .claim(let handle, let queue, let limit, let lease, let remote):
            let request = ClaimRequest(queue: queue, limit: limit, lease: lease, remoteWorker: remote)
            return try await claim(request, by: handles[handle])
        case .settle(let handle, let verdicts):
            hasHeld =
                hasHeld || verdicts.contains { if case .retry(_, _, _, true) = $0.verdict { true } else { false } }
            let settlements = verdicts.map { Settlement(leases[$0.lease], $0.verdict.soon(after: harness.time.now)) }
            return "\(try await handles[handle].settle(settlements))"
        case .finish(let handle, let lease, let result, let added, let drafts):
            guard leases.indices.contains(lease) else { return "no lease" }
            return try await finish(
                Settlement(leases[lease], .done, result: result, added: added, drafts: drafts), by: handles[handle])
        case .start(let handle, let workflow):
            return try await start(workflow, by: handles[handle])
        case .cancelWorkflow(let handle, let name):
            return "\(try await handles[handle].cancel(name))"
        case .record(let handle, let step, let lease):
            guard leases.indices.contains(lease) else { return "no lease" }
            return "\(try await handles[handle].record(step, result: [1], on: leases[lease], extendingBy: .seconds(9)))"
        case .emit(let handle, let event, let target):
            return "\(try await handles[handle].emit(NewEvent(event), to: target, durability: .processCrash))"
        case .extend(let handle, let numbers, let duration):
            return "\(try await handles[handle].extend(numbers.map { extending($0, by: duration) }))"
        case .expectEnd(let handle, let sequence):
            return "\(try await handles[handle].expectEnd(of: sequence))"
        case .reclaim(let handle):
            return "\(try await handles[handle].reclaim())"
        case .crash(let handle):
            try await harness.crash(handles[handle])
            handles[handle] = try await harness.open()
            return "crashed"
        case .close(let handle):
            try await handles[handle].close()
            handles[handle] = try await harness.open()
            return "closed"
        case .configure(let handle, let queue, let change):
            return try await configure(queue, change, by: handles[handle])
        case .setLimit(let handle, let name, let count):
            try await handles[handle].setLimit(name, to: count)
            return "limited"
        case .apply(let handle, let command, let selection):
            // Without a command in between as many match as are counted.
            let count = try await handles[handle].count(selection, for: command)
            return "\(try await handles[handle].apply(command, to: selection)) of \(count)"
        case .prune(let handle, let request):
            return try await prune(request, by: handles[handle])
        case .query(let handle, let query):
            let page = try await handles[handle].messages(query)
            let groups = try await handles[handle].deadGroups(
                DeadGroupQuery(queue: query.queue, preceding: query.preceding, lookMax: query.lookMax))
            return "\(page.map(\.comparable)) next \(page.next?.description ?? "none") \(groups)"
        case .append(let handle, let queue, let messages):
            return try await append(messages, to: queue, by: handles[handle])
        case .readLog(let handle, let query):
            return "\(try await handles[handle].log(query))"
        case .moveCursor(let handle, let cursor, let queue, let move):
            let moved = try await handles[handle].moveCursor(cursor, of: queue, move)
            return moved.map { "\($0)" } ?? "none"
        case .pass(let duration):
            harness.time.advance(by: duration)
            return "passed"
        case .setWallClock(let jump):
            harness.time.set(wall: harness.time.now + jump)
            return "set"
        }
    }

    /// More time for a lease, mostly with a progress.
    private func extending(_ number: Int, by duration: Duration) -> LeaseExtension {
        let progress = MessageProgress(number.isMultiple(of: 2) ? 0.25 : nil, "lease \(number)")
        return LeaseExtension(leases[number], by: duration, progress: number.isMultiple(of: 3) ? nil : progress)
    }

    private func enqueue(
        _ messages: [NewMessage], to queue: QueueName, by handle: any MessageStore
    ) async throws -> String {
        let before = try await handle.queueStatus(queue)
        let receipts = try await handle.put(messages, to: queue)
        let after = try await handle.queueStatus(queue)
        violations += Invariants.capacity(before: before, after: after)
        if messages.contains(where: { $0.uniqueKey != nil }) {
            let records = try await handle.messages(MessageQuery(queue: queue, limit: Limits.rowsMax)).records
            violations += Invariants.keys(receipts, messages, records)
        }
        let new = receipts.filter { !$0.skipped }.map(\.sequence)
        accept(new)
        return "\(receipts)"
    }

    /// An append makes room in the log by itself, which has to be counted.
    private func append(
        _ messages: [NewMessage], to queue: QueueName, by handle: any MessageStore
    ) async throws -> String {
        let before = try await handle.queueStatus(queue).depths
        let receipts = try await handle.append(messages, to: queue, unless: nil, durability: .processCrash)
        let after = try await handle.queueStatus(queue).depths
        accept(receipts.map(\.sequence))
        forgotten += before.all + receipts.count - after.all
        return "\(receipts)"
    }

    private func start(_ workflow: NewWorkflow, by handle: any MessageStore) async throws -> String {
        let started = try await handle.start(workflow, durability: .processCrash)
        if started.isNew { accept(started.receipts.map(\.sequence)) }
        return "\(started)"
    }

    private func finish(_ settlement: Settlement, by handle: any MessageStore) async throws -> String {
        let results = try await handle.settle([settlement])
        if results == [.settled(.done)] {
            let count = (settlement.added?.tasks.count ?? 0) + settlement.drafts.count
            accepted += count
            last += count
        }
        return "\(results)"
    }

    /// These were accepted, one after the other.
    private func accept(_ new: [SequenceNumber]) {
        violations += Invariants.rising([SequenceNumber(Int64(last))] + new)
        accepted += new.count
        last = new.last.map { Int($0.rawValue) } ?? last
    }

    private func claim(_ request: ClaimRequest, by handle: any MessageStore) async throws -> String {
        let before = try await handle.messages(MessageQuery(queue: request.queue, limit: Limits.rowsMax)).records
        let status = try await handle.queueStatus(request.queue)
        let claim = try await handle.claim(request)
        if !status.policy.limitsClaims, !shared.contains(request.queue) {
            violations += Invariants.claim(
                claim, limit: request.limit, from: status.isPaused ? [] : before, now: harness.time.now)
        } else if let limit = status.policy.limit, !claim.messages.isEmpty {
            violations += Invariants.leased(status.depths.leased + claim.messages.count, limit: limit)
        }
        violations += starts.note(claim.messages, of: request.queue, status.policy, at: harness.time.boot)
        leases += claim.messages.map(\.lease)
        let worked = asked.intersection(claim.messages.map(\.lease.sequence))
        if !worked.isEmpty { violations.append("\(worked) were to be cancelled, and are worked again") }
        let messages = claim.messages.map { message in
            "\(message.sequence) attempt \(message.attempt) priority \(message.priority) \(message.enqueuedAt) "
                + "\(message.headers) \(message.payload) \(message.origin?.description ?? "") "
                + "\(message.task.map { "\($0)" } ?? "") \(message.group ?? "")"
        }
        return "\(messages) next \(claim.nextDue.map { "\($0)" } ?? "none")"
    }

    private func configure(
        _ queue: QueueName, _ change: QueueChange, by handle: any MessageStore
    ) async throws -> String {
        var inQueue = 0
        if case .delete = change {
            inQueue = try await handle.messages(MessageQuery(queue: queue, limit: Limits.rowsMax)).count
        }
        try await handle.configure(queue, change)
        if change.mayChangeRates { starts.forget(queue) }
        switch change {
        case .create(let policy, _) where policy.isFair, .set(let policy, _) where policy.isFair: shared.insert(queue)
        default: break
        }
        forgotten += inQueue
        return "configured"
    }

    /// Prunes to the end: stores may cut their steps differently.
    private func prune(_ request: PruneRequest, by handle: any MessageStore) async throws -> String {
        var count = 0
        while true {
            let pruned = try await handle.prune(request)
            count += pruned.messages
            forgotten += pruned.messages
            if !pruned.hasMore { return "\(count)" }
        }
    }

    /// Everything the store holds, after a check that it makes sense.
    ///
    /// Journals and what messages wait for are asked of one message at a time, which is most of what a life costs: of the latest
    /// messages a quarter is asked for each time, another one than the time before, and all of them where `isLast`.
    func contents(isLast: Bool) async throws -> [String] {
        lookCount += 1
        let records = try await handles[0].messages(
            MessageQuery(limit: Limits.rowsMax, withPayload: true, withAttempts: true)
        ).records
        let status = try await handles[0].status(of: nil)
        let queues = status.queues
        violations += Invariants.cursors(status.cursors, last: last)
        violations += Invariants.records(records)
        asked.formUnion(records.filter { $0.cancelRequestedAt != nil }.map(\.sequence))
        violations += Invariants.depths(queues, records)
        var groups: [String] = []
        for queue in queues {
            let found = try await handles[0].groups(GroupQuery(queue: queue.name, limit: Limits.rowsMax))
            violations += Invariants.groups(found, queue, records, mayBeHeld: hasHeld)
            groups += found.map { "\(queue.name) \($0)" }
        }
        groups += try await handles[0].limits().map { "\($0)" }
        let workflows = try await handles[0].workflows(WorkflowQuery(limit: Limits.rowsMax))
        var tasks: [TaskRecord] = []
        for workflow in workflows { tasks += try await handles[0].tasks(TaskQuery(workflow.name, withResult: true)) }
        violations += Invariants.tasks(tasks)
        let latest = records.suffix(40).filter { isLast || Int($0.sequence.rawValue) % 4 == lookCount % 4 }
        var journals: [MessageJournal] = []
        for record in latest { journals.append(try await handles[0].journal(of: record.sequence)) }
        var causes: [String] = []
        for record in latest { causes.append(try await handles[0].waitCauses(of: record.sequence)) }
        violations += Invariants.noneLost(records.count, accepted: accepted, forgotten: forgotten)
        return queues.map { "\($0)" } + groups + workflows.map(\.text) + tasks.map { "\($0)" }
            + journals.map { "\($0)" } + causes
            + status.cursors.map { "\($0)" } + records.map { "\($0.comparable)" }
    }
}

extension Verdict {
    /// The same, with a time that is not from the beginning of the world.
    fileprivate func soon(after now: Timestamp) -> Verdict {
        guard case .suspend(_, let event) = self else { return self }
        return .suspend(until: now + .seconds(9), event: event)
    }
}

extension WorkflowRecord {
    fileprivate var text: String {
        let counts = counts.filter { $0.value > 0 }.map { "\($0.value) \($0.key)" }.sorted()
        return "\(id) \(name) \(startedAt) \(String(describing: cancelledAt)) \(counts) \(state)"
    }
}
