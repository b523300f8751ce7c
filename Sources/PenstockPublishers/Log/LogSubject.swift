internal import Dispatch
internal import Penstock
internal import Synchronization

/// A replay subject whose memory is a log.
///
/// What is sent is handed to the log in the order of the calls, and is on its way when `send` returns. A sender that
/// is faster than the log waits, at a bound. What cannot be stored ends the subject in this process with the error.
final class LogSubject<Output: Sendable>: Sendable {
    private struct State {
        var failure: (any Error)?
        var conduits: [ObjectIdentifier: Weak] = [:]
    }

    private struct Weak {
        weak var conduit: LogConduit<Output>?
    }

    private let replay: LogReplay<Output>
    private let room = DispatchSemaphore(value: Limits.stagedCountMax)
    private let state = Mutex(State())

    init(bufferSize: Int, in log: Queue<Output>, onMissed: @escaping @Sendable (Int) -> Void) {
        replay = LogReplay(
            remembering: bufferSize, in: log, canEnd: true, onMissed: onMissed, executor: StreamExecutor.current)
    }

    var subscriberCount: Int { replay.subscriberCount }

    func send(_ value: Output) {
        guard state.withLock({ $0.failure == nil }) else { return }
        room.wait()
        do {
            try replay.post(value) { result in
                self.room.signal()
                if case .failure(let error) = result { self.refused(error) }
            }
        } catch {
            room.signal()
            fail(error)
        }
    }

    func complete(_ completion: Subscribers.Completion<any Error>) {
        guard state.withLock({ $0.failure == nil }) else { return }
        var reason: (any Error)?
        if case .failure(let error) = completion { reason = error }
        replay.postCompletion(reason) { error in
            if let error { self.fail(error) }
        }
    }

    func subscribe(_ downstream: AnySubscriber<Output, any Error>) {
        let conduit = LogConduit.subscribe(downstream, to: replay)
        let failure = state.withLock { state in
            state.conduits = state.conduits.filter { $0.value.conduit != nil }
            state.conduits[ObjectIdentifier(conduit)] = Weak(conduit: conduit)
            return state.failure
        }
        if let failure { conduit.end(failure) }
    }

    private func refused(_ error: any Error) {
        // Of a log that has ended, in whichever process: as of any subject, nothing comes of sending.
        if (error as? PenstockError)?.code != .illegalTransition { fail(error) }
    }

    private func fail(_ error: any Error) {
        let conduits = state.withLock { state in
            guard state.failure == nil else { return [Weak]() }
            state.failure = error
            return Array(state.conduits.values)
        }
        for weak in conduits { weak.conduit?.end(error) }
    }
}
