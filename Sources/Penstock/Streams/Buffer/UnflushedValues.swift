internal import PenstockCore
internal import Synchronization

/// The values of a stream that are committed, and not on the disk yet: nothing of them is handed out before.
///
/// The store loop goes on meanwhile, so that one slow flush serves the values of many calls.
final class UnflushedValues: Sendable {
    private struct State {
        /// The first value of each call, by the call's number; `nil` until the call is answered.
        var calls: [Int: SequenceNumber?] = [:]
        var callsMade = 0
        var failure: (any Error)?
        /// Opens at the next flush, for the loop.
        var flush: Latch?
    }

    private let state = Mutex(State())

    /// Begins a call.
    ///
    /// - Parameter onFailure: told when nobody knows whether its values are on the disk.
    /// - Returns: its number, and what the store tells when its values are on the disk.
    func begin(
        onFailure: @escaping @Sendable (any Error) -> Void
    ) -> (call: Int, flushed: (any MessageStore).Flushed) {
        let call = state.withLock { state in
            state.callsMade += 1
            state.calls[state.callsMade] = .some(nil)
            return state.callsMade
        }
        return (
            call,
            { error in
                self.end(call, error)
                if let error { onFailure(error) }
            }
        )
    }

    /// The call was answered, and has stored values from `sequence` on.
    func answered(_ call: Int, from sequence: SequenceNumber?) {
        guard let sequence else { return end(call, nil) }
        state.withLock { state in
            if state.calls[call] != nil { state.calls[call] = sequence }
        }
    }

    /// The values of the call are on the disk, or nobody knows; or there are none.
    private func end(_ call: Int, _ failure: (any Error)?) {
        let flush = state.withLock { state in
            state.calls[call] = nil
            state.failure = state.failure ?? failure
            return state.flush.take()
        }
        flush?.open()
    }

    /// Whether a flush has failed: the stream ends with that.
    var hasFailed: Bool { state.withLock { $0.failure != nil } }

    /// Returns when all values up to `sequence` are on the disk; `nil`: when all are.
    ///
    /// - Throws: what a flush failed with.
    func wait(upTo sequence: SequenceNumber?) async throws {
        while let flush = try next(upTo: sequence) { await flush.waitThoughCancelled() }
    }

    private func next(upTo sequence: SequenceNumber?) throws -> Latch? {
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            let isFlushed = state.calls.values.allSatisfy { first in
                guard let first, let sequence else { return false }
                return first > sequence
            }
            if isFlushed { return nil }
            let flush = state.flush ?? Latch()
            state.flush = flush
            return flush
        }
    }
}
