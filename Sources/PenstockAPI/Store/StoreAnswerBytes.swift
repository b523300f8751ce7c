import PenstockCore
import PenstockWire

/// What a call of the store gave, as its caller is told of it.
struct StoreAnswerBytes: Sendable {
    /// The answer or the error.
    var bytes: [UInt8]
    /// What the answer hands over: should it not arrive, these are given back.
    var leases: [Lease]

    /// - Parameters:
    ///   - result: the answer, or the error.
    ///   - now: the store's time, by which the caller understands the moments in the answer.
    init<Answer: WireValue>(_ result: Result<Answer, any Error>, now: Timestamp) {
        var writer = WireWriter()
        switch result {
        case .success(let answer):
            leases = (answer as? any HandsOver)?.leases ?? []
            writer(now, RemoteReply.answer(answer))
        case .failure(let error):
            leases = []
            writer(now, RemoteReply<Answer>.error(WireError(error)))
        }
        bytes = writer.bytes
    }
}
