import PenstockCore
import Synchronization

/// Tells other processes that this one asks for more time for its leases and has no answer yet.
///
/// An extension goes through the same writer as everything else. When the store stalls for longer than a lease lasts,
/// extensions are still in line when the first process gets through, and that one must not take the messages of workers
/// that live. So a worker says in its own file, which needs no store, that it asks (`WorkerLock`), and says it again each
/// second. The word holds for a few seconds (`WorkerStanding`). A process that is stopped, hangs or dies does not say it again.
final class MoreTime: Sendable {
    private struct State {
        var callCount = 0
        var task: Task<Void, Never>?
    }

    private static let interval = Duration.seconds(1)

    private let worker: WorkerIdentity
    private let time: any TimeSource
    private let state = Mutex(State())

    init(_ worker: WorkerIdentity, time: any TimeSource) {
        self.worker = worker
        self.time = time
    }

    /// Runs `ask`, which extends leases, and says meanwhile that it asks.
    ///
    /// When it fails because the store stalls, the word stands for as long as it holds: time enough to ask again.
    func asking<Answer: Sendable>(_ ask: () async throws -> Answer) async throws -> Answer {
        begin()
        do {
            let answer = try await ask()
            end(isAnswered: true)
            return answer
        } catch {
            end(isAnswered: !Self.isOfStall(error))
            throw error
        }
    }

    private func begin() {
        state.withLock { state in
            state.callCount += 1
            guard state.callCount == 1 else { return }
            worker.ask(at: time.boot.microseconds)
            state.task = Task { [self] in
                while (try? await time.sleep(for: Self.interval)) != nil { sayAgain() }
            }
        }
    }

    private func sayAgain() {
        // Inside the lock, so that no word comes after the last call has its answer.
        state.withLock { state in
            if state.callCount > 0 { worker.ask(at: time.boot.microseconds) }
        }
    }

    private func end(isAnswered: Bool) {
        state.withLock { state in
            state.callCount -= 1
            guard state.callCount == 0 else { return }
            state.task?.cancel()
            state.task = nil
            worker.ask(at: isAnswered ? nil : time.boot.microseconds)
        }
    }

    /// Whether the store has answered nobody, and not only this call. What this process alone cannot do must not keep its
    /// messages from the others.
    private static func isOfStall(_ error: any Error) -> Bool {
        (error as? PenstockError)?.isOfStalledStore == true
    }
}
