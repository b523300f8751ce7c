import HTTPTypes
import Penstock
import PenstockCore
import PenstockHTTP

/// A claim for a worker that reaches the store through this server.
struct RemoteClaim: Sendable {
    /// The first one that has messages is served first; a later one gets what those before it leave.
    var queues: [QueueName]
    var limit: Int
    var lease: Duration
    var worker: WorkerName
    var wait: Duration

    /// A message, and which queue it is of.
    struct Claimed: Sendable {
        var queue: QueueName
        var message: ClaimedMessage
    }

    /// The part that one queue gives.
    func request(of queue: QueueName, limit: Int) -> ClaimRequest {
        ClaimRequest(queue: queue, limit: limit, lease: lease, remoteWorker: worker)
    }

    /// Claims what there is, and waits for it if there is nothing.
    ///
    /// The store is asked in calls that nothing cuts short, and only the waits between them are: so no message is claimed that
    /// nobody hears of. The client's being gone is looked at before a wait ends with messages.
    ///
    /// - Returns: none when the time is over, or the server is told to stop.
    /// - Throws: what the store throws; a problem when nobody is left to work on what was claimed.
    func run(_ store: PenstockStore, _ context: ServerContext, _ time: any TimeSource) async throws -> [Claimed] {
        let patience = Patience(wait, time)
        var hasWaited = false
        while true {
            // The tokens come before the claims, so that a ring in between is not lost.
            let tokens = queues.map { ($0, store.storage.changes.token(for: $0)) }
            let (claimed, nextDue) = try await claimOnce(store)
            if !claimed.isEmpty {
                if hasWaited, try await context.isClientGone {
                    try await store.giveBack(claimed)
                    throw Problem.clientGone
                }
                return claimed
            }
            guard let left = patience.left else { return [] }
            let (changes, limit) = (store.storage.changes, limit)
            let due = nextDue.map { max(.zero, $0 - time.now) }
            let waits = tokens.map { queue, token in
                { @Sendable () async throws in
                    try await changes.waitForWork(in: queue, after: token, room: limit)
                }
            }
            hasWaited = true
            let pause = min(left, store.storage.lookInterval, due ?? left)
            switch try await context.wait(atMost: pause, time, for: { try await Self.first(of: waits) }) {
            case .happened, .timeIsUp: continue
            case .serverStops: return []
            case .clientGone:
                // It may have been woken for a message just now, for which nobody else was.
                for queue in queues { changes.ring(queue) }
                throw Problem.clientGone
            }
        }
    }

    private func claimOnce(_ store: PenstockStore) async throws -> (claimed: [Claimed], nextDue: Timestamp?) {
        try await store.reclaimIfDue()
        var claimed: [Claimed] = []
        var nextDue: Timestamp?
        for queue in queues where claimed.count < limit {
            do {
                let claim = try await store.storage.claim(request(of: queue, limit: limit - claimed.count))
                claimed += claim.messages.map { Claimed(queue: queue, message: $0) }
                nextDue = [nextDue, claim.nextDue].compactMap { $0 }.min()
            } catch  where !claimed.isEmpty {
                // What the others gave is somebody's work by now.
                return (claimed, nil)
            }
        }
        return (claimed, nextDue)
    }

    private static func first(of waits: [@Sendable () async throws -> Void]) async throws {
        if let only = waits.first, waits.count == 1 { return try await only() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for wait in waits { group.addTask { try await wait() } }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

extension Problem {
    /// The client has closed its connection while it waited: nobody reads this.
    fileprivate static let clientGone = Problem(
        HTTPResponse.Status(code: 499, reasonPhrase: "Client Closed Request"), code: "clientGone",
        "The client has closed its connection while it waited; nothing was claimed.")
}

extension PenstockStore {
    /// Gives back messages that were claimed for a remote worker that has never heard of them: the attempt does not count. Also for a task
    /// that is cancelled.
    ///
    /// - Throws: what the store throws. The messages then come back when their leases end.
    func giveBack(_ claimed: [RemoteClaim.Claimed]) async throws {
        if claimed.isEmpty { return }
        let settlements = claimed.map { Settlement($0.message.lease, .release) }
        _ = try await Task { [storage] in try await storage.settle(settlements) }.value
    }
}
