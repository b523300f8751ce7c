import Dispatch

/// Runs calls that block, away from Swift's cooperative threads.
enum Blocking {
    /// The value of `body`, which may block.
    static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try body() })
            }
        }
    }
}
