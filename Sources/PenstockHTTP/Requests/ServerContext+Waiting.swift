package import PenstockCore
import ServiceLifecycle

extension ServerContext {
    /// Calls `body`, and ends it when the time is over, the client is gone or the server is told to stop.
    ///
    /// It is for waits, and for what only looks: what `body` had just done may be lost when it is ended.
    ///
    /// - Parameter endsWithToken: whether the time is over as well when the token of the request is none any more, or is for other things
    ///   than it was. The caller asks then what it may still do.
    /// - Throws: what `body` throws; `CancellationError` when the task is cancelled.
    package func wait<Value: Sendable>(
        atMost limit: Duration, _ time: any TimeSource, endsWithToken: Bool = false,
        for body: @escaping @Sendable () async throws -> Value
    ) async throws -> WaitEnd<Value> {
        let end = Waiter<WaitEnd<Value>>()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                do {
                    end.answer(.success(.happened(try await body())))
                } catch {
                    end.answer(.failure(error))
                }
            }
            defer { group.cancelAll() }
            guard endsWithToken, let tokens = shown?.tokens else {
                return try await wait(for: end, atMost: limit, time)
            }
            let call = tokens.whenChanged { if principalNow != principal { end.answer(.success(.timeIsUp)) } }
            defer { tokens.forget(call) }
            // It may have been taken back just before.
            if principalNow == nil { return .timeIsUp }
            return try await wait(for: end, atMost: limit, time)
        }
    }

    /// Waits until `begin` has its call made, the time is over, the client is gone or the server is told to stop.
    ///
    /// - Parameter begin: is given what to call, at once or later, from any thread.
    /// - Throws: `CancellationError` when the task is cancelled.
    package func wait(
        atMost limit: Duration, _ time: any TimeSource, beginning begin: (@escaping @Sendable () -> Void) -> Void
    ) async throws -> WaitEnd<Void> {
        let end = Waiter<WaitEnd<Void>>()
        begin { end.answer(.success(.happened(()))) }
        return try await wait(for: end, atMost: limit, time)
    }

    /// Waits for `end`, which others may answer as well. There may be thousands of such waits, so they have few tasks.
    private func wait<Value: Sendable>(
        for end: Waiter<WaitEnd<Value>>, atMost limit: Duration, _ time: any TimeSource
    ) async throws -> WaitEnd<Value> {
        guard let presence = ClientPresence.of(channel) else { return .clientGone }
        let call = presence.whenGone { end.answer(.success(.clientGone)) }
        defer { presence.forget(call) }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await time.sleep(for: limit)
                end.answer(.success(.timeIsUp))
            }
            defer { group.cancelAll() }
            return try await withGracefulShutdownHandler {
                try await end.wait()
            } onGracefulShutdown: {
                end.answer(.success(.serverStops))
            }
        }
    }

    /// Whether there is a connection on which an answer could go out.
    package var isConnected: Bool { ClientPresence.of(channel) != nil }

    /// Whether nobody is left to answer.
    package var isClientGone: Bool { ClientPresence.of(channel)?.isGone ?? true }
}
