import HTTPTypes
import Penstock
import PenstockCore
import PenstockHTTP

/// Messages that are offered to a queue, and for how long its producer waits for room.
///
/// The store is asked in calls that nothing cuts short, and only the waits between them are: so what is in line has a receipt,
/// whatever ends the wait.
struct Offer: Sendable {
    let store: PenstockStore
    let queue: QueueName
    let durability: Durability
    let context: ServerContext
    let patience: Patience

    /// Enqueues as many of `messages` as there is room for, in their order.
    ///
    /// - Returns: a receipt for each message that is in line. There are fewer only when the queue is full, and its policy is `wait`;
    ///   or when the store has thrown the failure for those that found room later.
    /// - Throws: what the store throws for the first ones.
    func enqueue(_ messages: [NewMessage]) async throws -> (receipts: [Receipt], failure: (any Error)?) {
        var receipts: [Receipt] = []
        while true {
            // The token comes before the offer: a ring in between is not lost.
            let token = store.storage.changes.token(for: queue)
            do {
                receipts += try await store.storage.enqueue(
                    Array(messages.dropFirst(receipts.count)), to: queue, durability: durability)
            } catch  where !receipts.isEmpty {
                return (receipts, error)
            }
            guard receipts.count < messages.count, let left = patience.left else { return (receipts, nil) }
            do {
                guard try await isWorthAnotherTry(after: token, left) else { return (receipts, nil) }
            } catch  where !receipts.isEmpty {
                return (receipts, error)
            }
        }
    }

    /// Waits for room.
    private func isWorthAnotherTry(after token: Wakeups.Token, _ left: Duration) async throws -> Bool {
        let (changes, look) = (store.storage.changes, store.storage.lookInterval)
        let expiry = try await store.storage.nextExpiry(of: queue).map { max(.zero, $0 - patience.time.now) }
        let end = try await context.wait(atMost: min(left, look, expiry ?? look), patience.time) { [queue] in
            try await changes.waitForRoomOrWork(in: queue, after: token)
        }
        switch end {
        case .happened, .timeIsUp:
            // A token that was taken back meanwhile puts nothing more in line.
            try context.requireStill(.produce, [queue])
            return true
        case .clientGone, .serverStops: return false
        }
    }
}

extension PenstockError {
    /// Whether an enqueue that has failed with this, and changed nothing, might not have without one of its messages.
    var mayBeOfOneMessage: Bool { code == .invalidInput || code == .queueFull }
}

extension Problem {
    /// That a queue has no room, and for how long not to ask again.
    static func queueFull(_ queue: QueueName) -> Problem {
        Problem(
            .tooManyRequests, code: PenstockError.Code.queueFull.rawValue,
            "The queue '\(queue)' is full; try again, or wait for room with ?wait=30s.",
            retryAfterSeconds: Bounds.retryAfterSeconds)
    }
}
