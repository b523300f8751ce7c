internal import Penstock
internal import PenstockCore
internal import PenstockStreams
internal import Synchronization

/// A replay subject whose memory is a log.
///
/// What is sent is handed to the log in the order of the calls, and is on its way when `send` returns. A sender that
/// is faster than the log waits, at a bound of values and of their bytes. What cannot be stored ends the subject in this
/// process with the error.
final class LogSubject<Output: Sendable>: Sendable {
    /// Why the subject is over in this process: the end of what feeds the log, so that subscribers first get what is in it.
    private final class Breakdown: Sendable {
        private let first = Mutex<(any Error)?>(nil)
        private let hasCome = Latch()

        var failure: (any Error)? { first.withLock { $0 } }

        func come(_ error: any Error) {
            first.withLock { $0 = $0 ?? error }
            hasCome.open()
        }

        /// Returns when it has come and all that was sent before is in the log.
        func ending(of feed: LogFeed<Output>) async -> LogEnding {
            try? await hasCome.wait()
            guard let failure else { return .finished }
            await feed.flush()
            return .failed(failure)
        }
    }

    private let replay: LogReplay<Output>
    let room = SenderRoom()
    private let breakdown = Breakdown()

    init(bufferSize: Int, in log: Queue<Output>, onMissed: @escaping @Sendable (Int) -> Void) {
        replay = LogReplay(
            remembering: bufferSize, in: log, canEnd: true, onMissed: onMissed, executor: StreamExecutor.current
        ) { [breakdown] feed in
            LogInflow { await breakdown.ending(of: feed) }
        }
    }

    var subscriberCount: Int { replay.subscriberCount }

    func send(_ value: Output) {
        guard breakdown.failure == nil else { return }
        // A value that cannot be encoded waits its turn as well: what was sent before comes before the end.
        let message = Result { try replay.message(of: value) }
        let bytes = (try? message.get().payload.count) ?? 0
        room.enter(bytes: bytes)
        do {
            try replay.post(message.get()) { result in
                self.room.leave(bytes: bytes)
                if case .failure(let error) = result { self.refused(error) }
            }
        } catch {
            room.leave(bytes: bytes)
            breakdown.come(error)
        }
    }

    func complete(_ completion: Subscribers.Completion<any Error>) {
        guard breakdown.failure == nil else { return }
        replay.postCompletion(Completion(completion).failure) { error in
            if let error { self.breakdown.come(error) }
        }
    }

    func subscribe(_ downstream: AnySubscriber<Output, any Error>) {
        LogConduit.subscribe(downstream, to: replay)
    }

    private func refused(_ error: any Error) {
        // Of a log that has ended, in whichever process: as of any subject, nothing comes of sending.
        if (error as? PenstockError)?.code != .illegalTransition { breakdown.come(error) }
    }
}
