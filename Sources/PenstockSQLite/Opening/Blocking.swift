import PenstockProcesses

/// Runs calls that block, away from Swift's cooperative threads.
///
/// Each has a thread of its own, and not one of Dispatch's: where the system makes no more threads, Dispatch waits for
/// as long as that lasts, and a caller is to be told.
enum Blocking {
    /// The value of `body`, which may block.
    ///
    /// - Throws: what `body` throws; `storage` when the system makes no thread.
    static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try SystemThread.start("penstock call") { continuation.resume(with: Result { try body() }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}
