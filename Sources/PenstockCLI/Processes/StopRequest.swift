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

    private let made = Mutex<Cause?>(nil)
    private let signal: AsyncStream<Void>
    private let signalling: AsyncStream<Void>.Continuation

    init() {
        (signal, signalling) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// The first cause that was given, if one was.
    var cause: Cause? { made.withLock { $0 } }

    /// Makes the request. The first cause is the one that counts.
    func make(_ cause: Cause) {
        made.withLock { made in made = made ?? cause }
        signalling.yield()
    }

    /// Returns `true` once the request is made, and `false` when the task was cancelled first.
    func wait() async -> Bool {
        for await _ in signal { return true }
        return false
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
