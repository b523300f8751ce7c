import Synchronization

/// Somebody's wish that a running command should end.
final class StopRequest: Sendable {
    /// Why it should end.
    enum Cause: Sendable, Hashable {
        /// It took longer than it may.
        case timeout
        /// The worker stops, and its grace is over.
        case grace
        /// Whoever started it does not want it any more.
        case cancelled
    }

    private struct State {
        var cause: Cause?
        var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var namesGiven = 0
    }

    private let state = Mutex(State())

    /// The first cause that was given, if one was.
    var cause: Cause? { state.withLock { $0.cause } }

    /// Makes the request. The first cause is the one that counts.
    func make(_ cause: Cause) {
        let waiters = state.withLock { state in
            state.cause = state.cause ?? cause
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Returns `true` once the request is made, and `false` when the task was cancelled first.
    func wait() async -> Bool {
        let name = state.withLock { state in
            state.namesGiven += 1
            return state.namesGiven
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.cause != nil { return true }
                    if Task.isCancelled { return false }
                    state.waiters[name] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: name) }?.resume(returning: false)
        }
    }

    /// As ``wait()``, for `limit` at most.
    ///
    /// - Returns: whether the request is made.
    func wait(upTo limit: Duration, on clock: any Clock<Duration>) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await self.wait() }
            group.addTask { try? await clock.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
        return cause != nil
    }
}

/// The stop requests of all commands that run: one call makes them all.
final class StopRequests: Sendable {
    private struct State {
        var requests: [ObjectIdentifier: StopRequest] = [:]
        var cause: StopRequest.Cause?
    }

    private let state = Mutex(State())

    /// Calls `body` with a request that ``makeAll(_:)`` makes, also when it did before.
    func withRequest<Result>(_ body: (StopRequest) async throws -> Result) async rethrows -> Result {
        let request = StopRequest()
        let cause = state.withLock { state in
            state.requests[ObjectIdentifier(request)] = request
            return state.cause
        }
        if let cause { request.make(cause) }
        defer { state.withLock { _ = $0.requests.removeValue(forKey: ObjectIdentifier(request)) } }
        return try await body(request)
    }

    /// Makes the requests of all that run, and of all that are still to come.
    func makeAll(_ cause: StopRequest.Cause) {
        let requests = state.withLock { state in
            state.cause = cause
            return Array(state.requests.values)
        }
        for request in requests { request.make(cause) }
    }
}
