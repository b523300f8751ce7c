internal import Logging
internal import PenstockCore
internal import PenstockSQL

/// Settles and extends for all deliveries of one reader, or of one queue of a worker that has several.
final class LeaseHolder: Sendable {
    let queue: QueueName
    /// All queues of the reader.
    let queues: Set<QueueName>
    let handle: StoreHandle
    let metrics: QueueMetrics
    let inFlight: InFlight
    /// The verdicts that are on their way to the store.
    let line: SettleLine
    /// Those that bring messages into line. The store may refuse them, and no claim and no other verdict is to fail with that.
    private let refusable: SettleLine
    /// What handlers say of how far they have come.
    let progress: ProgressLine
    /// How long the reader's leases last unless they are extended.
    let lease: Duration
    /// The moment from which on something may be asked of the reader.
    let begun: Notices.Token

    private var storage: any MessageStore { handle.storage }
    private var time: any TimeSource { handle.time }

    convenience init(_ queue: Queue<some Sendable>, lease: Duration) {
        let inFlight = InFlight(time: queue.handle.time)
        self.init(
            queue, of: [queue.name], lease: lease, inFlight, line: SettleLine(queue.handle.storage, inFlight),
            refusable: SettleLine(queue.handle.storage, inFlight))
    }

    private init(
        _ queue: Queue<some Sendable>, of queues: Set<QueueName>, lease: Duration, _ inFlight: InFlight,
        line: SettleLine, refusable: SettleLine
    ) {
        self.queue = queue.name
        self.queues = queues
        handle = queue.handle
        metrics = queue.metrics
        self.inFlight = inFlight
        self.line = line
        self.refusable = refusable
        progress = ProgressLine(queue.name, queue.handle)
        self.lease = lease
        begun = queue.handle.storage.changes.notices.token(for: queue.name)
    }

    /// One for each queue of a reader. They share the leases in flight and the verdicts that wait: one call extends, or settles,
    /// those of all queues.
    static func sharing(_ queues: [Queue<some Sendable>], lease: Duration) -> [LeaseHolder] {
        guard let first = queues.first.map({ LeaseHolder($0, lease: lease) }) else { return [] }
        let names = Set(queues.map(\.name))
        return queues.map {
            LeaseHolder($0, of: names, lease: lease, first.inFlight, line: first.line, refusable: first.refusable)
        }
    }

    /// The present moment in the order of what is asked of those who work on the queue.
    var noticed: Notices.Token { storage.changes.notices.token(for: queue) }

    @discardableResult
    func settle(_ settlement: Settlement) async throws -> MessageState {
        try state(after: await result(of: settlement, inLine: {}), of: settlement)
    }

    private func result(of settlement: Settlement, inLine: () -> Void) async throws -> SettleResult {
        do {
            guard settlement.bringsMessages else { return try await line.settle(settlement, inLine: inLine) }
            try Draft.validate(settlement.drafts, now: handle.time.now)
            return try await refusable.settle(settlement)
        } catch {
            inFlight.endSettling(settlement.lease)
            throw error
        }
    }

    private func state(after result: SettleResult, of settlement: Settlement) throws -> MessageState {
        metrics.record(settlement.verdict, result)
        switch result {
        case .settled(let state): return state
        case .leaseLost: throw lost(settlement.lease)
        }
    }

    /// Settles, also for a task that is cancelled. When the store fails in a way that may pass, this tries again while the
    /// lease lives; a task that is cancelled does not wait for that.
    ///
    /// - Returns: what the message is now; `nil` when nobody knows, as the lease is gone and an earlier try may have been what settled it.
    /// - Throws: what the store threw at the last try. The lease is held then as before.
    @discardableResult
    func settleWhileHeld(_ settlement: Settlement, inLine: () -> Void = {}) async throws -> MessageState? {
        var isInLine = false
        func tellOnce() {
            if !isInLine { inLine() }
            isInLine = true
        }
        defer { tellOnce() }
        var wasTried = false
        let result = try await tryWhileHeld(settlement.lease, "settle") {
            do {
                return try await self.result(of: settlement, inLine: tellOnce)
            } catch {
                if (error as? PenstockError)?.code == .outcomeUnknown { wasTried = true }
                throw error
            }
        }
        if wasTried, result == .leaseLost {
            handle.logger.warning(
                "message was settled by an earlier try, or its lease was lost before",
                metadata: ["queue": "\(queue)", "sequence": "\(settlement.lease.sequence)"])
            return nil
        }
        return try state(after: result, of: settlement)
    }

    /// Has a message come back when its lease ends, of which the store takes no verdict.
    func letLapse(_ message: ClaimedMessage, after error: PenstockError) {
        inFlight.remove(message.lease)
        tellUnsettled(message, error)
    }

    /// Tells of a message whose lease is extended no more, though its work is done.
    func tellUnsettled(_ message: ClaimedMessage, _ error: any Error) {
        handle.logger.error(
            "message not settled; it comes back when its lease ends",
            metadata: metadata(message, error: "\(error)"))
    }

    /// Makes a call of the store, and again when that fails in a way that may pass, while the lease is held: until its end or, while
    /// a run works on its message, until the store says that it is lost. A store that stalls for longer than a lease cannot have it
    /// extended, and has not given the message to anybody either. A task that is cancelled does not wait for that.
    private func tryWhileHeld<Answer>(
        _ lease: Lease, _ call: StaticString, _ body: () async throws -> Answer
    ) async throws -> Answer {
        var retry = StoreRetry()
        while true {
            do {
                return try await body()
            } catch {
                guard inFlight.lives(lease) || !inFlight.runs(on: lease).isEmpty, !Task.isCancelled,
                    let delay = retry.wait(after: error, of: call, for: queue, handle),
                    (try? await time.sleep(for: delay)) != nil
                else { throw error }
            }
        }
    }

    /// Settles within an application's transaction. The lease is held until that commits: should it be rolled back, or a
    /// savepoint in it, the message is as before, and can be settled again.
    func settle(_ settlement: Settlement, joining transaction: some ApplicationTransaction) throws {
        let (lease, verdict) = (settlement.lease, settlement.verdict)
        try PenstockError.refuseOther(transaction, than: storage)
        inFlight.beginSettling([lease])
        let result: SettleResult
        do {
            result = try transaction.settle([settlement]).first ?? .leaseLost
        } catch {
            inFlight.endSettling(lease)
            throw error
        }
        guard case .settled = result else {
            inFlight.remove(lease)
            throw lost(lease)
        }
        transaction.whenEnded(
            lease,
            committed: { [inFlight, metrics] isHeld in
                // A savepoint that was rolled back has taken the verdict with it, though the transaction came through.
                if isHeld { return inFlight.endSettling(lease) }
                // Verdicts in several savepoints are one in the end.
                if inFlight.remove(lease) { metrics.record(verdict, result) }
            },
            rolledBack: { [inFlight] in inFlight.endSettling(lease) })
    }

    /// Moves the end of the lease to `duration` from now. While a run works on its message, whose lease is extended with the others
    /// now and then, the end only ever becomes later.
    func extend(_ lease: Lease, by duration: Duration) async throws {
        let ends = time.boot + duration
        let keepsLonger = !inFlight.runs(on: lease).isEmpty
        let wanted = LeaseExtension(lease, by: duration, keepsLonger: keepsLonger)
        try wanted.validate()
        let standing = try await storage.extend([wanted]).first ?? .lost
        guard standing.isHeld else {
            inFlight.remove(lease)
            throw lost(lease)
        }
        inFlight.moveEnd(of: lease, to: ends, keepsLonger: keepsLonger)
        if standing == .cancelRequested { inFlight.ask(lease) }
    }

    /// Records a step, also for a task that is cancelled: what the step did is done. When the store fails in a way that may
    /// pass, this tries again while the lease lives; a task that is cancelled does not wait for that.
    ///
    /// It is as durable as what the store enqueues: what the step gave may be used outside at once.
    ///
    /// The lease then lasts as long as a new one, but for one that somebody has made longer, or that is to end.
    func record(_ step: StepName, _ result: [UInt8], on lease: Lease) async throws -> StepRecord {
        do {
            return try await tryWhileHeld(lease, "record") {
                let ends = time.boot + self.lease
                let duration = inFlight.isExtended(lease, before: ends) ? self.lease : nil
                let record = try await ownTask { [handle] in
                    try await handle.storage.record(
                        step, result: result, on: lease, extendingBy: duration, durability: handle.durability)
                }.value
                if duration != nil { inFlight.moveEnd(of: lease, to: ends) }
                return record
            }
        } catch let error as PenstockError where error.code == .leaseLost {
            inFlight.lose(lease)
            throw error
        }
    }

    func requireHeld(_ lease: Lease) throws {
        guard inFlight.contains(lease) else { throw lost(lease) }
    }

    /// What throws `leaseLost` once the lease has ended, for a caller that waits with a message in hand. `nil` while a run works on the
    /// message: that is cancelled when the lease is lost, and may outlive its end where the store stalls.
    func loss(of lease: Lease) -> (@Sendable () async throws -> Void)? {
        guard inFlight.runs(on: lease).isEmpty else { return nil }
        return { [self] in
            try await inFlight.waitForEnd(of: lease)
            throw lost(lease)
        }
    }

    /// Puts messages back in line that nobody gets, also for a task that is cancelled.
    func giveBack(_ leases: [Lease]) async {
        if leases.isEmpty { return }
        inFlight.remove(leases)
        await handle.release(leases)
    }

    /// Passes on that the reader was woken for messages that it does not take: one that is given back wakes another reader,
    /// and that one takes all that there is.
    func wakeAnother() async {
        let request = ClaimRequest(queue: queue, limit: 1, lease: lease)
        // Also for a task that is cancelled. Should it fail, others find the messages when they look.
        await ownTask { [handle] in
            guard let claim = try? await handle.storage.claim(request) else { return }
            handle.tell(of: claim.setAside)
            if let message = claim.messages.first { await handle.release([message.lease]) }
        }.value
    }

    /// What log messages say of a message.
    func metadata(_ message: ClaimedMessage, error: String? = nil) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "queue": "\(queue)", "sequence": "\(message.lease.sequence)", "attempt": "\(message.attempt)",
        ]
        if let error { metadata["error"] = "\(error)" }
        return metadata
    }

    private func lost(_ lease: Lease) -> PenstockError {
        PenstockError(
            .leaseLost,
            "The lease of message \(lease.sequence) was lost: its message was taken back, cancelled or settled before. "
                + "Nothing was changed.")
    }
}
