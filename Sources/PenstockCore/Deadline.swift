/// The time that a caller gave is over.
package struct DeadlinePassed: Error {
    package init() {}
}

/// Waits, but not beyond `deadline`.
///
/// - Throws: ``DeadlinePassed``; what `wait` throws.
package func within(
    _ deadline: BootTime?, _ time: any TimeSource, _ wait: @escaping @Sendable () async throws -> Void
) async throws {
    guard let deadline else { return try await wait() }
    guard let left = deadline.left(at: time.boot) else { throw DeadlinePassed() }
    try await firstOf([
        wait,
        {
            try await time.sleep(for: left)
            throw DeadlinePassed()
        },
    ])
}

/// Returns when the first of `waits` is done or throws, and the others have ended by cancellation.
///
/// - Throws: what the first one threw; `CancellationError` when the task is cancelled.
package func firstOf(_ waits: [@Sendable () async throws -> Void]) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for wait in waits { group.addTask { try await wait() } }
        defer { group.cancelAll() }
        try await group.next()
    }
}
