internal import Logging
internal import PenstockCore
internal import Synchronization

/// What handlers of one reader say of their progress, on its way to the store: one write a second at most for all of them, and of each
/// message what was said last.
///
/// A task writes while there is something to write, and none is there for readers that say nothing.
final class ProgressLine: Sendable {
    /// Between two writes.
    static let interval = Duration.seconds(1)

    private struct State {
        var pending: [Lease: MessageProgress] = [:]
        var isWriting = false
    }

    private let state = Mutex(State())
    private let queue: QueueName
    private let handle: StoreHandle

    init(_ queue: QueueName, _ handle: StoreHandle) {
        self.queue = queue
        self.handle = handle
    }

    /// Has `progress` written for the message of `lease`, in place of what waits for it.
    func report(_ progress: MessageProgress, of lease: Lease) {
        let begins = state.withLock { state in
            state.pending[lease] = progress
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { Task { await write() } }
    }

    private func write() async {
        while let pending = take() {
            do {
                _ = try await handle.storage.extend(pending.map { LeaseExtension($0, progress: $1) })
            } catch {
                // It is for people to look at, and the next one says more.
                handle.logger.debug(
                    "progress not written", metadata: ["queue": "\(queue)", "error": "\(error)"])
            }
            try? await handle.time.sleep(for: Self.interval)
        }
    }

    /// - Returns: `nil` when nothing waits; then the task ends.
    private func take() -> [Lease: MessageProgress]? {
        state.withLock { state in
            state.isWriting = !state.pending.isEmpty
            defer { state.pending = [:] }
            return state.isWriting ? state.pending : nil
        }
    }
}
