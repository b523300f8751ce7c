import CPenstockSystem
import PenstockCore

/// A thread of the operating system. Unlike Foundation's it says when none can be made.
package enum SystemThread {
    private final class Body {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a thread of its own.
    ///
    /// - Parameters:
    ///   - name: what debuggers show, 15 bytes at most.
    ///   - stackByteCount: the size of its stack; 0: the system's.
    /// - Throws: `storage` when the system makes no more threads for this process or user.
    package static func start(
        _ name: String, stackByteCount: Int = 0, _ body: @escaping @Sendable () -> Void
    ) throws {
        let passed = Unmanaged.passRetained(Body(body))
        let failure = penstock_start_thread(
            name, stackByteCount,
            { context in
                if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
            }, passed.toOpaque())
        if failure == 0 { return }
        passed.release()
        throw SystemErrors.failure(
            "No thread can be made; raise the limit on processes (`ulimit -u`) or end some", failure)
    }

    /// The value of `body`, which may block, and so runs away from Swift's cooperative threads: on a thread of its own, and
    /// not on one of Dispatch's. Where the system makes no more threads, Dispatch waits for as long as that lasts, and a
    /// caller is to be told.
    ///
    /// - Throws: what `body` throws; `storage` when the system makes no thread.
    package static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try start("penstock call") { continuation.resume(with: Result { try body() }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Has the threads of this process share the memory that they take, where the system's library would have each begin
    /// with none of its own. For a program that runs for moments: its threads seldom take memory at the same time.
    package static func shareMemory() { penstock_use_one_arena() }

    /// Makes up to `count` threads that are there at the same time, and ends them.
    ///
    /// - Returns: how many the system has made.
    package static func made(upTo count: Int) -> Int {
        Int(penstock_count_threads(Int32(clamping: max(0, count))))
    }
}
