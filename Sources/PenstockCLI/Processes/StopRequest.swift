import PenstockCore
import Synchronization

/// Somebody's wish that a running command should end.
final class StopRequest: Sendable {
    enum Cause: Sendable, Hashable {
        /// It took longer than it may.
        case timeout
        /// The worker stops, and its grace is over.
        case grace
        /// It wrote more to its standard output than is kept.
        case output
        /// Whoever started it does not want it any more.
        case cancelled
    }

    private let made = Latch()
    private let first = Mutex<Cause?>(nil)

    /// The first cause that was given, if one was.
    var cause: Cause? { first.withLock { $0 } }

    /// Makes the request. The first cause is the one that counts.
    func make(_ cause: Cause) {
        first.withLock { $0 = $0 ?? cause }
        made.open()
    }

    /// Returns `true` once the request is made, and `false` when the task was cancelled first.
    func wait() async -> Bool { (try? await made.wait()) != nil }

    /// As ``wait()``, for `limit` at most.
    func wait(upTo limit: Duration, on clock: any Clock<Duration>) async -> Bool {
        await made.opens(within: limit, on: clock)
    }
}

/// The stop requests of all commands that run: one call makes them all.
final class StopRequests: Sendable {
    private struct State {
        var requests: [ObjectIdentifier: StopRequest] = [:]
        /// How many of them are commands that run.
        var runCount = 0
        var cause: StopRequest.Cause?
    }

    private let state = Mutex(State())
    private let begun = Latch()

    /// Says that the worker stops: what runs may end by itself, and nothing begins any more.
    func begin() { begun.open() }

    /// Returns `true` once the worker stops, and `false` when the task was cancelled first.
    func waitForBegin() async -> Bool { (try? await begun.wait()) != nil }

    /// Calls `body` with a request that ``makeAll(_:)`` makes, also when it did before.
    ///
    /// - Parameter isRun: whether a command runs meanwhile. What waits for the store or for room is none, and no worker stays for it.
    func withRequest<Result>(
        isRun: Bool = true, _ body: (StopRequest) async throws -> Result
    ) async rethrows -> Result {
        let request = StopRequest()
        let cause = state.withLock { state in
            state.requests[ObjectIdentifier(request)] = request
            if isRun { state.runCount += 1 }
            return state.cause
        }
        if let cause { request.make(cause) }
        defer {
            state.withLock { state in
                state.requests[ObjectIdentifier(request)] = nil
                if isRun { state.runCount -= 1 }
            }
        }
        return try await body(request)
    }

    /// Whether no command runs.
    var isEmpty: Bool { state.withLock { $0.runCount == 0 } }

    /// Makes the requests of all that run, and of all that are still to come.
    func makeAll(_ cause: StopRequest.Cause) {
        let requests = state.withLock { state in
            state.cause = cause
            return Array(state.requests.values)
        }
        for request in requests { request.make(cause) }
    }
}

extension Latch {
    /// Whether it is open by then. Returns at once when the task is cancelled.
    func opens(within limit: Duration, on clock: any Clock<Duration>) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await self.wait() }
            group.addTask { try? await clock.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        return isOpen
    }
}
