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
        // From when on it may have been woken for messages that it has not claimed; nothing before its first wait.
        var since: [QueueName: Wakeups.Token] = [:]
        while true {
            // The tokens come before the claims, so that a ring in between is not lost.
            let tokens = queues.map { ($0, changes.token(for: $0)) }
            let look: Look
            do {
                look = try await claimOnce(store)
            } catch {
                if !since.isEmpty { ring(changes) }
                throw error
            }
            if !look.claimed.isEmpty {
                passOn(changes, since, look.left)
                try await context.requireClient(for: look.claimed.map(\.message.lease), of: store)
                return look.claimed
            }
            guard let left = patience.left else {
                passOn(changes, since, look.left)
                return []
            }
            // What a rate has kept back, say, this claim waits for still.
            for (queue, token) in tokens where since[queue] == nil || look.left[queue] == 0 { since[queue] = token }
            let due = look.nextDue.map { max(.zero, $0 - time.now) }
            let pause = min(left, store.storage.remoteLookInterval, due ?? left)
            let end: WaitEnd<Void>
            do {
                end = try await waited(changes, after: tokens, atMost: pause, context, time)
            } catch {
                passOn(changes, since)
                throw error
            }
            switch end {
            case .happened, .timeIsUp:
                do { try context.requireStill(.consume, queues) } catch {
                    ring(changes)
                    throw error
                }
            case .serverStops:
                passOn(changes, since)
                return []
            case .clientGone:
                passOn(changes, since)
                throw Problem.clientGone
            }
        }
    }

    /// It ends, and may have been woken just now for a message for which nobody else was.
    private func ring(_ changes: Wakeups) {
        for queue in queues { changes.ring(queue) }
    }

    /// It ends, and others are woken for the messages that it was woken for and leaves. Where nothing has rung, it was not woken, and all
    /// others sleep on.
    ///
    /// - Parameters:
    ///   - since: for each queue the moment from which on it may have been woken for messages that it has not claimed.
    ///   - left: how many of these it may have left; `nil`: as many as it could take.
    private func passOn(_ changes: Wakeups, _ since: [QueueName: Wakeups.Token], _ left: [QueueName: Int]? = nil) {
        for (queue, token) in since where changes.isRungForWork(in: queue, after: token) {
            let messages = left.map { $0[queue] ?? 0 } ?? limit
            if messages > 0 { changes.pass(on: messages, of: queue) }
        }
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
            calls = tokens.compactMap { changes.callForWork(in: $0, after: $1, room: limit, passesOn: true, woken) }
        }
    }

    /// What one look at the queues has given.
    private struct Look {
        var claimed: [Claimed] = []
        var nextDue: Timestamp?
        /// How many messages more the claim has room for, of each queue that may have some: what it was woken for there it leaves.
        var left: [QueueName: Int]
    }

    private func claimOnce(_ store: PenstockStore) async throws -> Look {
        try await store.reclaimIfDue()
        // Of a queue that is not asked nothing is known.
        var look = Look(left: Dictionary(queues.map { ($0, limit) }) { first, _ in first })
        var bytes = 0
        for queue in queues where look.claimed.count < limit && bytes < bytesMax {
            do {
                let asked = limit - look.claimed.count
                let claim = try await store.storage.claim(request(of: queue, limit: asked))
                look.claimed += claim.messages.map { Claimed(queue: queue, message: $0) }
                bytes += claim.messages.reduce(0) { $0 + $1.payload.count }
                look.nextDue = [look.nextDue, claim.nextDue].compactMap { $0 }.min()
                let isEmptied = claim.isAll(of: asked) && !claim.isWithheld
                look.left[queue] = isEmptied ? 0 : limit - claim.messages.count
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
