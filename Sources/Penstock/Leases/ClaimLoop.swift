internal import Metrics
internal import PenstockCore

/// The calls in which one reader claims, one after the other, and what it waits for between them. Iterators, publishers,
/// durable buffers and workers all claim through one.
struct ClaimLoop: Sendable {
    let holder: LeaseHolder
    /// The moment before the last call: what rings after it may announce something new.
    private(set) var before: Wakeups.Token?
    /// When the next scheduled message is due, going by the last claim.
    private(set) var nextDue: Timestamp?
    private var retry = StoreRetry()
    /// A look for lost work takes less, unless the store stalls.
    private static let lookMax = Duration.seconds(1)
    /// Until when nothing is claimed, after the store failed.
    private var retryEnd: BootTime?

    init(_ holder: LeaseHolder) {
        self.holder = holder
    }

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
        // The token comes before the call, so that a ring in between is not lost.
        if !keepsNews || before == nil { expectNews() }
        if operations.contains(where: \.isClaim), handle.reclaimGate.tryPass() {
            try await lookForLostWork()
        }
        // Reckoned from before the call, so that no lease is held for longer than the store says.
        let ends = handle.time.boot + holder.lease
        let noticed = holder.noticed
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
        for case .claimed(let claim) in performed.answers {
            holder.inFlight.add(claim.messages.map(\.lease), ending: ends)
            holder.metrics.recordClaim(of: claim.messages, at: handle.time.now)
            nextDue = claim.nextDue
            // Whoever heard a notice meanwhile did not know of these, one of which it may have been for.
            if !claim.messages.isEmpty, holder.noticed != noticed { handle.storage.changes.notify(holder.queue) }
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

    /// What was announced until now is known.
    mutating func expectNews() {
        before = handle.storage.changes.token(for: holder.queue)
    }

    /// Claims up to `limit` messages. When it returns none, the reader waits for one of ``waits`` before it claims again.
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
}

extension PenstockError {
    /// A store's answer is none to what it was asked.
    static let unexpectedAnswer = PenstockError(.storage, "The store's answer is none to what it was asked.")
}
