internal import Metrics
internal import PenstockCore

/// The calls in which one reader claims, one after the other, and what it waits for between them. Iterators, publishers,
/// durable buffers and workers all claim through one. It claims from one queue or, for a worker, from several.
struct ClaimLoop: Sendable {
    /// What is known of one of the queues.
    struct Source: Sendable {
        let holder: LeaseHolder
        /// The moment before the last call about the queue: what rings after it may announce something new.
        fileprivate(set) var before: Wakeups.Token?
        /// Whether the last claim that succeeded gave nothing, so that the reader waits.
        fileprivate var isWaiting = false
        /// Whether a ring was heard while it waited, after which no claim has succeeded.
        fileprivate var wasWoken = false
        /// When the queue's next scheduled message is due, going by the last claim.
        fileprivate(set) var nextDue: Timestamp?

        /// Whether there may be messages to claim that were not there at the last call.
        var isRung: Bool {
            before.map { holder.handle.storage.changes.isRungForWork(in: holder.queue, after: $0) } ?? false
        }

        /// Whether the reader may be the only one that was woken for what a ring told of.
        fileprivate var isOwed: Bool { wasWoken || isWaiting && isRung }
    }

    /// The queues. A reader that is no worker has one.
    private(set) var sources: [Source]
    private var retry = StoreRetry()
    /// A look for lost work takes less, unless the store stalls.
    private static let lookMax = Duration.seconds(1)
    /// Until when nothing is claimed, after the store failed.
    private var retryEnd: BootTime?

    init(_ holder: LeaseHolder) {
        self.init([holder])
    }

    /// - Parameter holders: one for each queue, at least one. They share what is in flight, and the verdicts that wait.
    init(_ holders: [LeaseHolder]) {
        sources = holders.map { Source(holder: $0) }
    }

    /// That of the first queue, with what all of them share.
    var holder: LeaseHolder { sources[0].holder }

    /// The moment before the last call, for a reader of one queue.
    var before: Wakeups.Token? { sources[0].before }

    /// When the next scheduled message of any queue is due, going by the last claims.
    var nextDue: Timestamp? { sources.compactMap(\.nextDue).min() }

    private var handle: StoreHandle { holder.handle }

    // MARK: Calls

    /// Carries out operations for this reader, after the verdicts that wait in its line, and holds what they claim. Looks for
    /// lost work before a claim, when it is time to.
    ///
    /// - Parameter keepsNews: whether what was announced before the last call is still of interest.
    /// - Throws: what the store threw. Then none of the operations was carried out; after `outcomeUnknown` nobody knows.
    mutating func perform(
        _ operations: [StoreOperation], keepsNews: Bool = false, flushed: (any MessageStore).Flushed? = nil
    ) async throws -> Performed {
        // The token comes before the call, so that a ring in between is not lost. What no operation is about keeps its own.
        let concerned = Set(operations.compactMap(\.queue))
        for index in sources.indices
        where sources[index].before == nil || !keepsNews && concerned.contains(sources[index].holder.queue) {
            expectNews(at: index)
        }
        if operations.contains(where: \.isClaim), handle.reclaimGate.tryPass() { try await lookForLostWork() }
        // Reckoned from before the call, so that no lease is held for longer than the store says.
        let ends = handle.time.boot + holder.lease
        let noticed = sources.map(\.holder.noticed)
        let verdicts = holder.line.take()
        let settle = verdicts.isEmpty ? [] : [StoreOperation.settle(verdicts.map(\.settlement))]
        var performed: Performed
        do {
            performed = try await handle.storage.perform(settle + operations, flushed: flushed)
            if !verdicts.isEmpty {
                guard case .settled(let results)? = performed.answers.first else {
                    throw PenstockError.unexpectedAnswer
                }
                performed.answers.removeFirst()
                holder.line.answer(verdicts, results)
            }
        } catch {
            await holder.line.handIn(verdicts, after: error, wasAlone: operations.isEmpty)
            throw error
        }
        for case (let operation, .claimed(let claim)) in zip(operations, performed.answers) {
            guard let index = sources.firstIndex(where: { $0.holder.queue == operation.queue }) else { continue }
            holder.inFlight.add(claim.messages.map(\.lease), ending: ends)
            (sources[index].isWaiting, sources[index].wasWoken) = (claim.messages.isEmpty, false)
            sources[index].holder.metrics.recordClaim(of: claim.messages, at: handle.time.now)
            handle.tell(of: claim.setAside)
            sources[index].nextDue = claim.nextDue
            // Whoever heard a notice meanwhile did not know of these, one of which it may have been for.
            if !claim.messages.isEmpty, sources[index].holder.noticed != noticed[index] {
                handle.storage.changes.notify(operation.queue ?? holder.queue)
            }
        }
        return performed
    }

    private mutating func lookForLostWork() async throws {
        // It would take back a message that is finished and whose lease has ended.
        if !holder.inFlight.live(holder.line.leases, for: Self.lookMax) { await holder.line.handIn(holder.line.take()) }
        do {
            _ = try await handle.storage.reclaim()
        } catch {
            guard (error as? PenstockError)?.code == .outcomeUnknown else {
                await holder.line.handIn(holder.line.take())
                throw error
            }
            // Told of, and looked for again half a second later: nothing else that is asked for here depends on it.
            _ = retry.wait(after: error, of: "reclaim", for: holder.queue, handle)
        }
    }

    /// Hands in the verdicts that wait. Each one's task is told what became of it.
    mutating func settle() async {
        _ = try? await perform([], keepsNews: true)
    }

    /// What was announced until now is known, for a reader of one queue.
    mutating func expectNews() {
        expectNews(at: 0)
    }

    private mutating func expectNews(at index: Int) {
        sources[index].wasWoken = sources[index].isOwed
        sources[index].before = handle.storage.changes.token(for: sources[index].holder.queue)
    }

    /// The queue is gone: nothing of it is due.
    mutating func forgetDue(at index: Int) {
        sources[index].nextDue = nil
    }

    /// Claims up to `limit` messages, for a reader of one queue. When it returns none, the reader waits for one of ``waits`` before
    /// it claims again.
    ///
    /// A claim that the store fails in a way that may pass is told and counted, and the reader claims again after a while.
    ///
    /// - Throws: what the store threw, when no later try can help; `CancellationError`.
    mutating func next(upTo limit: Int) async throws -> [ClaimedMessage] {
        let request = ClaimRequest(queue: holder.queue, limit: limit, lease: holder.lease)
        do {
            let performed = try await perform([.claim(request)])
            if let failure = performed.failure { throw failure }
            guard case .claimed(let claim)? = performed.answers.first else { throw PenstockError.unexpectedAnswer }
            retry.succeeded()
            retryEnd = nil
            return claim.messages
        } catch {
            guard let delay = retry.wait(after: error, of: "claim", for: holder.queue, handle) else { throw error }
            retryEnd = handle.time.boot + delay
            return []
        }
    }

    // MARK: Waiting

    /// What a reader whose claim gave nothing waits for, the first of these. It must then claim one message at least, as
    /// nobody else is woken for it.
    var waits: [@Sendable () async throws -> Void] {
        let (changes, time, look) = (handle.storage.changes, handle.time, handle.storage.lookInterval)
        if let retryEnd { return [{ try await time.sleep(for: retryEnd.left(at: time.boot) ?? .zero) }] }
        guard let before else { return [{}] }
        let deadline = nextDue.map { min($0, time.now + look) }
        return [
            { [queue = holder.queue] in try await changes.waitForWork(in: queue, after: before, room: 1) },
            {
                // Only what is due goes by the wall clock, which has to be looked at now and then.
                if let deadline { try await time.sleep(until: deadline) } else { try await time.sleep(for: look) }
            },
        ]
    }

    /// The reader ends. What it was woken for and has not claimed wakes another one, which the reader does not wait for.
    mutating func end() {
        for index in sources.indices where sources[index].isOwed {
            (sources[index].isWaiting, sources[index].wasWoken) = (false, false)
            handle.backgroundTasks.begin { [holder = sources[index].holder] in await holder.wakeAnother() }
        }
    }
}

extension PenstockError {
    static let unexpectedAnswer = PenstockError(.storage, "The store's answer is none to what it was asked.")
}
