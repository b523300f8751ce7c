import Dispatch

/// The worker's standard output, to which it passes what commands that stay answer. Other commands write there themselves.
///
/// A queue of its own writes, so that a slow reader blocks no thread of the pool, and what one answers is not mixed with
/// what others do.
enum CommandOutput {
    private static let queue = DispatchQueue(label: "penstock.command-output")
    /// Whether this process was started with one.
    private static let isThere = Descriptor.standardOutput.isForWriting

    /// Writes `bytes`, and returns when that is done.
    static func pass(_ bytes: [UInt8]) async throws {
        if bytes.isEmpty || !isThere { return }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            queue.async {
                continuation.resume(with: Result { try write(bytes) })
            }
        }
    }

    private static func write(_ bytes: [UInt8]) throws {
        do throws(SystemFailure) {
            try Descriptor.standardOutput.write(bytes)
        } catch {
            throw Failure(
                .inputOutput,
                "What the commands answer cannot be written to standard output (\(error)); free some room or redirect it."
            )
        }
    }
}
