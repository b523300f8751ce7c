internal import PenstockStreams

/// Begins a task of its own for what goes on though the running task is cancelled.
///
/// It prefers the executor of the running task, as a child task would. A source of values may hold all of Swift's threads until the
/// store has answered, and then that answer may need none of them.
package func ownTask<Answer: Sendable>(
    _ body: @escaping @Sendable () async throws -> Answer
) -> Task<Answer, any Error> {
    Task(executorPreference: preferredExecutor(), operation: body)
}

/// Begins a task of its own that cannot fail; see the other one.
package func ownTask(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: preferredExecutor(), operation: body)
}
