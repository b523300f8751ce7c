import HTTPTypes
package import Penstock
package import PenstockCore

/// A claim for a worker that reaches the store through this server.
package struct RemoteClaim: Sendable {
    /// The first one that has messages is served first; a later one gets what those before it leave.
    package var queues: [QueueName]
    package var limit: Int
    package var lease: Duration
    package var worker: WorkerName
    package var wait: Duration
    /// With so many bytes of payloads no further queue is asked. One alone may give as many.
    package var bytesMax = Limits.batchBytesMax

    package init(queues: [QueueName], limit: Int, lease: Duration, worker: WorkerName, wait: Duration) {
        self.queues = queues
        self.limit = limit
        self.lease = lease
        self.worker = worker
        self.wait = wait
    }

    /// A message, and which queue it is of.
    package struct Claimed: Sendable {
        package var queue: QueueName
        package var message: ClaimedMessage

        package init(queue: QueueName, message: ClaimedMessage) {
            self.queue = queue
            self.message = message
        }
    }

    /// The part that one queue gives.
    package func request(of queue: QueueName, limit: Int) -> ClaimRequest {
        ClaimRequest(queue: queue, limit: limit, lease: lease, remoteWorker: worker)
    }

    /// Claims what there is, and waits for it if there is nothing.
    ///
    /// The store is asked in calls that nothing cuts short, and only the waits between them are: so no message is claimed that
    /// nobody hears of.
    ///
    /// - Returns: none when the time is over, or the server is told to stop.
    /// - Throws: what the store throws; a problem when nobody is left to work on what was claimed.
    package func run(_ store: PenstockStore, _ context: ServerContext, _ time: any TimeSource) async throws -> [Claimed]
    {
        let patience = Patience(wait, time)
        let changes = store.storage.changes
        // Those of the look before, once it has waited.
        var waitedAfter: [(QueueName, Wakeups.Token)] = []
        var looksLeft = Self.looksMax
        while true {
            // The tokens come before the claims, so that a ring in between is not lost.
            let tokens = queues.map { ($0, changes.token(for: $0)) }
            let look: Look
            do {
                look = try await claimOnce(store, time)
            } catch {
                if !waitedAfter.isEmpty { ring(changes) }
                throw error
            }
            if !look.claimed.isEmpty {
                // It may have been woken for another queue as well, and nobody else was.
                let given = Set(look.claimed.map(\.queue))
                passOn(changes, after: waitedAfter.filter { !given.contains($0.0) })
                try await context.requireClient(for: look.claimed.map(\.message.lease), of: store)
                return look.claimed
            }
            if look.goesOn, looksLeft > 0 {
                looksLeft -= 1
                continue
            }
            guard let left = patience.left else { return [] }
            waitedAfter = tokens
            let due = look.nextDue.map { max(.zero, $0 - time.now) }
            let pause = min(left, store.storage.remoteLookInterval, due ?? left)
            let end = try await waited(changes, after: tokens, atMost: pause, context, time)
            switch end {
            case .happened, .timeIsUp:
                do { try context.requireStill(.consume, queues) } catch {
                    ring(changes)
                    throw error
                }
            case .serverStops:
                passOn(changes, after: tokens)
                return []
            case .clientGone:
                passOn(changes, after: tokens)
                throw Problem.clientGone
            }
        }
    }

    /// It ends, and may have been woken just now for a message for which nobody else was.
    private func ring(_ changes: Wakeups) {
        for queue in queues { changes.ring(queue) }
    }

    /// The same of a claim that ends as it waits: where nothing has rung since, it was not woken, and all others sleep on.
    private func passOn(_ changes: Wakeups, after tokens: [(QueueName, Wakeups.Token)]) {
        for (queue, token) in tokens where changes.isRungForWork(in: queue, after: token) { changes.ring(queue) }
    }

    /// Waits for a ring at one of the queues. Afterwards nobody here hears of them any more.
    private func waited(
        _ changes: Wakeups, after tokens: [(QueueName, Wakeups.Token)], atMost pause: Duration,
        _ context: ServerContext,
        _ time: any TimeSource
    ) async throws -> WaitEnd<Void> {
        var calls: [Wakeups.Call] = []
        defer { for call in calls { changes.cancel(call) } }
        return try await context.wait(atMost: pause, time) { woken in
            calls = tokens.compactMap { changes.callForWork(in: $0, after: $1, room: limit, woken) }
        }
    }

    /// What one look at the queues has given.
    private struct Look {
        var claimed: [Claimed] = []
        var nextDue: Timestamp?
        /// Whether a queue gave nothing as it had more to put in order than one claim does, and the next claim goes on at once.
        var goesOn = false
    }

    /// How often a claim looks again at once, without a wait: each look puts a thousand messages in order.
    private static let looksMax = 100

    private func claimOnce(_ store: PenstockStore, _ time: any TimeSource) async throws -> Look {
        try await store.reclaimIfDue()
        var look = Look()
        var bytes = 0
        for queue in queues where look.claimed.count < limit && bytes < bytesMax {
            do {
                let claim = try await store.storage.claim(request(of: queue, limit: limit - look.claimed.count))
                store.tell(of: claim.setAside)
                look.claimed += claim.messages.map { Claimed(queue: queue, message: $0) }
                bytes += claim.messages.reduce(0) { $0 + $1.payload.count }
                look.nextDue = [look.nextDue, claim.nextDue].compactMap { $0 }.min()
                if claim.isWithheld, let next = claim.nextDue, next <= time.now { look.goesOn = true }
            } catch  where !look.claimed.isEmpty {
                // What the others gave is somebody's work by now.
                look.nextDue = nil
                return look
            }
        }
        return look
    }
}

extension Problem {
    fileprivate static let clientGone = clientGone("The client has gone; nothing was claimed.")
}

extension ServerContext {
    /// Gives messages back that were claimed for a client that is not there any more.
    ///
    /// - Throws: a problem, if it is so; what the store throws.
    package func requireClient(for leases: [Lease], of store: PenstockStore) async throws {
        guard !leases.isEmpty, isClientGone else { return }
        try await store.giveBack(leases)
        throw Problem.clientGone
    }
}

extension MessageStore {
    /// How long a remote worker waits before it claims again: that it asks is the only sign of it, and holds for a minute.
    package var remoteLookInterval: Duration { min(lookInterval, .seconds(30)) }
}

extension PenstockStore {
    /// Gives back messages that were claimed for a remote worker that has never heard of them: neither the attempt counts, nor the start for
    /// a rate. Also for a task that is cancelled.
    ///
    /// - Throws: what the store throws. The messages then come back when their leases end.
    package func giveBack(_ leases: [Lease]) async throws {
        if leases.isEmpty { return }
        let settlements = leases.map(Settlement.unbegun)
        _ = try await Task { [storage] in try await storage.settle(settlements) }.value
    }
}
