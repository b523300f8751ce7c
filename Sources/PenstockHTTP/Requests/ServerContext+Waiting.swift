import NIOCore
package import PenstockCore
import ServiceLifecycle

extension ServerContext {
    /// Calls `body`, and ends it when the time is over, the client is gone or the server is told to stop.
    ///
    /// It is for waits, and for what only looks: what `body` had just done may be lost when it is ended.
    ///
    /// - Throws: what `body` throws; `CancellationError` when the task is cancelled.
    package func wait<Value: Sendable>(
        atMost limit: Duration, _ time: any TimeSource, for body: @escaping @Sendable () async throws -> Value
    ) async throws -> WaitEnd<Value> {
        let presence = try await presence
        return try await withThrowingTaskGroup(of: WaitEnd<Value>.self) { group in
            group.addTask { .happened(try await body()) }
            group.addTask {
                try await time.sleep(for: limit)
                return .timeIsUp
            }
            group.addTask {
                try await presence?.waitForEnd()
                return .clientGone
            }
            group.addTask {
                try await gracefulShutdown()
                return .serverStops
            }
            defer { group.cancelAll() }
            return try await group.next() ?? .serverStops
        }
    }

    /// Whether nobody is left to answer.
    package var isClientGone: Bool {
        get async throws { try await presence?.isGone ?? true }
    }

    /// `nil`: the connection is over.
    private var presence: ClientPresence? {
        get async throws {
            let channel = channel
            return try await channel.eventLoop.submit {
                try? channel.pipeline.syncOperations.handler(type: ConnectionWatch.self).presence
            }.get()
        }
    }
}
