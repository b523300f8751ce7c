/// Returns when the first of `waits` is done or throws, and the others have ended by cancellation.
///
/// - Throws: what the first one threw; `CancellationError` when the task is cancelled.
func firstOf(_ waits: [@Sendable () async throws -> Void]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for wait in waits { group.addTask { try await wait() } }
        defer { group.cancelAll() }
        try await group.next()
    }
}
