internal import GRDB
internal import Logging
internal import PenstockCore
internal import PenstockSQLite

/// Settles and extends for all deliveries of one reader.
struct LeaseHolder: Sendable {
    let queue: QueueName
    let handle: StoreHandle
    let metrics: QueueMetrics
    let inFlight: InFlight
    /// How long the reader's leases last unless they are extended.
    let lease: Duration

    private var storage: any MessageStore { handle.storage }
    private var time: any TimeSource { handle.time }

    init(_ queue: Queue<some Sendable>, lease: Duration) {
        self.queue = queue.name
        handle = queue.handle
        metrics = queue.metrics
        inFlight = InFlight(time: queue.handle.time)
        self.lease = lease
    }

    @discardableResult
    func settle(_ lease: Lease, _ verdict: Verdict) async throws -> MessageState {
        // Otherwise an extension that comes just after the settle would find the lease gone, and take it for lost.
        inFlight.setExtended(false, lease)
        let result: SettleResult
        do {
            result = try await storage.settle([Settlement(lease, verdict)]).first ?? .leaseLost
        } catch {
            inFlight.setExtended(true, lease)
            throw error
        }
        inFlight.remove(lease)
        metrics.record(verdict, result)
        switch result {
        case .settled(let state): return state
        case .leaseLost: throw lost(lease)
        }
    }

    /// Settles, also for a task that is cancelled. When the store fails in a way that may pass, this tries again while the
    /// lease lives; a task that is cancelled does not wait for that.
    ///
    /// - Throws: what the store threw at the last try. The lease is held then as before.
    @discardableResult
    func settleWhileHeld(_ lease: Lease, _ verdict: Verdict) async throws -> MessageState {
        var retry = StoreRetry()
        while true {
            do {
                do {
                    return try await settle(lease, verdict)
                } catch is CancellationError {
                    return try await Task { try await settle(lease, verdict) }.value
                }
            } catch {
                guard inFlight.lives(lease), !Task.isCancelled,
                    let delay = retry.wait(after: error, of: "settle", for: queue, handle),
                    (try? await time.sleep(for: delay)) != nil
                else { throw error }
            }
        }
    }

    /// Settles within an application's transaction. The lease is held until that commits: should it be rolled back, or a
    /// savepoint in it, the message is as before, and can be settled again.
    func settle(_ lease: Lease, _ verdict: Verdict, in database: Database) throws {
        guard let store = storage as? SQLiteStore else { throw PenstockError.notInATransaction }
        inFlight.setExtended(false, lease)
        let result: SettleResult
        do {
            result = try store.settle([Settlement(lease, verdict)], in: database).first ?? .leaseLost
        } catch {
            inFlight.setExtended(true, lease)
            throw error
        }
        guard case .settled = result else {
            inFlight.remove(lease)
            throw lost(lease)
        }
        database.afterNextTransaction(
            onCommit: { [inFlight, metrics] database in
                // A savepoint that was rolled back has taken the verdict with it, though the transaction came through.
                if (try? store.isHeld(lease, in: database)) == true { return inFlight.setExtended(true, lease) }
                // Verdicts in several savepoints are one in the end.
                if inFlight.remove(lease) { metrics.record(verdict, result) }
            },
            onRollback: { [inFlight] _ in inFlight.setExtended(true, lease) })
    }

    func extend(_ lease: Lease, by duration: Duration) async throws {
        let ends = time.boot + duration
        guard try await storage.extend([lease], by: duration).first == true else {
            inFlight.remove(lease)
            throw lost(lease)
        }
        inFlight.moveEnd(of: lease, to: ends)
    }

    /// Puts messages back in line that nobody gets, also for a task that is cancelled.
    func giveBack(_ leases: [Lease]) async {
        if leases.isEmpty { return }
        inFlight.remove(leases)
        await handle.release(leases)
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
