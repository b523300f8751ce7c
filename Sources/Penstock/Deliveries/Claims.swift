internal import PenstockCore

/// The claims of one reader, one after the other, and what it waits for between them.
///
/// A claim that the store fails in a way that may pass is told and counted, and the reader claims again after a while.
struct Claims: Sendable {
    private enum Reason {
        /// There was nothing to claim: a ring, a due time or a look is waited for.
        case nothing(since: Wakeups.Token, due: Timestamp?)
        /// The store failed.
        case failure(end: BootTime)
    }

    let holder: LeaseHolder
    private var retry = StoreRetry()
    private var reason: Reason?

    init(_ holder: LeaseHolder) {
        self.holder = holder
    }

    private var handle: StoreHandle { holder.handle }

    /// Claims up to `limit` messages. When it returns none, the reader waits for one of ``waits`` before it claims again.
    ///
    /// - Throws: what the store threw, when no later try can help; `CancellationError`.
    mutating func next(upTo limit: Int) async throws -> [ClaimedMessage] {
        // The token comes before the look, so that a ring in between is not lost.
        let changed = handle.storage.changes.token(for: holder.queue)
        do {
            let claim = try await holder.claim(upTo: limit)
            retry.succeeded()
            reason = .nothing(since: changed, due: claim.nextDue)
            return claim.messages
        } catch {
            guard let delay = retry.wait(after: error, of: "claim", for: holder.queue, handle) else { throw error }
            reason = .failure(end: handle.time.boot + delay)
            return []
        }
    }

    /// What a reader whose claim gave nothing waits for, the first of these. It must then claim one message at least, as
    /// nobody else is woken for it.
    var waits: [@Sendable () async throws -> Void] {
        let (changes, time, look) = (handle.storage.changes, handle.time, handle.storage.lookInterval)
        switch reason {
        case .nothing(let token, let due):
            let deadline = due.map { min($0, time.now + look) }
            return [
                { [queue = holder.queue] in try await changes.waitForWork(in: queue, after: token, room: 1) },
                {
                    // Only what is due goes by the wall clock, which has to be looked at now and then.
                    if let deadline { try await time.sleep(until: deadline) } else { try await time.sleep(for: look) }
                },
            ]
        case .failure(let end):
            return [{ try await time.sleep(for: end.left(at: time.boot) ?? .zero) }]
        case nil:
            return [{}]
        }
    }
}
