import Hummingbird
import PenstockCore
import PenstockHTTP
import Synchronization

/// Claims messages for clients, which are remote workers: what they hold outlives this process.
struct Receiver: Sendable {
    /// How long a receiver sleeps at most before it looks by itself.
    private static let lookMax = Duration.seconds(1)

    let store: any MessageStore
    let time: any TimeSource
    private let gate = LookGate()

    init(store: any MessageStore, time: any TimeSource) {
        self.store = store
        self.time = time
    }

    /// Claims what there is now.
    func claim(_ request: ClaimRequest) async throws -> Claim {
        if gate.tryPass(at: time.boot) { _ = try await store.reclaim() }
        return try await store.claim(request)
    }

    /// Claims as soon as there is something, until `wait` has passed or the client has gone.
    ///
    /// What was claimed for a client that has gone is given back, and does not count as received.
    func claim(_ request: ClaimRequest, waiting wait: Duration, until isGone: Latch) async throws -> [ClaimedMessage] {
        let end = time.boot + wait
        while true {
            // The token comes before the claim, so that a ring in between is not lost.
            let token = store.changes.token(for: request.queue)
            let claim = try await claim(request)
            if !claim.messages.isEmpty {
                guard isGone.isOpen || Task.isCancelled else { return claim.messages }
                await release(claim.messages.map(\.lease))
                return []
            }
            guard !isGone.isOpen, let left = end.left(at: time.boot) else { return [] }
            let due = claim.nextDue.map { max(.zero, $0 - time.now) } ?? left
            try await sleep(request, after: token, for: min(left, due, Self.lookMax, store.lookInterval), until: isGone)
        }
    }

    /// Returns when there may be something to claim, after `duration`, or when the client has gone. Whoever was woken for messages
    /// claims them in any case: nobody else is woken for these.
    private func sleep(
        _ request: ClaimRequest, after token: Wakeups.Token, for duration: Duration, until isGone: Latch
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { [store, time] group in
            group.addTask {
                try await store.changes.waitForWork(in: request.queue, after: token, room: request.limit)
            }
            group.addTask { try await time.sleep(for: duration) }
            group.addTask { try await isGone.wait() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Gives messages back that nobody has seen, also for a task that is cancelled.
    func release(_ leases: [Lease]) async {
        // Should it fail, the leases end by themselves.
        await Task { [store] in _ = try? await store.settle(leases.map { Settlement($0, .release) }) }.value
    }
}

/// Lets one of many requests look for lost work, twice a second.
private final class LookGate: Sendable {
    private static let interval = Duration.milliseconds(500)
    private let last = Mutex<BootTime?>(nil)

    func tryPass(at now: BootTime) -> Bool {
        last.withLock { last in
            if let last, last.bootID == now.bootID,
                now.microseconds - last.microseconds < Self.interval.wholeMicroseconds
            {
                return false
            }
            last = now
            return true
        }
    }
}
