import HTTPTypes
package import Penstock
package import PenstockCore

extension ServerContext {
    /// Replays what `query` finds for the client, while it is there and its token is for these queues. A queue that is full makes it wait,
    /// and nobody waits for ever.
    ///
    /// - Parameters:
    ///   - queue: where to put the messages; `nil`: into the query's own queue.
    ///   - dryRun: whether only to count.
    ///   - limit: how long it may take.
    /// - Returns: how many messages were put in line, or would be.
    /// - Throws: a problem that says that the replay was cut short; what the store throws.
    package func replay(
        _ query: MessageQuery, into queue: QueueName?, dryRun: Bool, in store: PenstockStore, atMost limit: Duration,
        _ time: any TimeSource
    ) async throws -> Int {
        let cutShort = "The replay was cut short; the messages that were replayed name their origin."
        let queues = [query.queue, queue].compactMap(\.self)
        let end = try await wait(atMost: limit, time) {
            // A token that was taken back meanwhile puts nothing more in line.
            try await store.replay(query, into: queue, dryRun: dryRun) {
                try requireStill(.operate, queues, orSay: cutShort)
            }
        }
        switch end {
        case .happened(let count): return count
        case .clientGone: throw Problem.clientGone(cutShort)
        case .timeIsUp, .serverStops:
            throw Problem(.gatewayTimeout, code: PenstockError.Code.outcomeUnknown.rawValue, cutShort)
        }
    }
}
