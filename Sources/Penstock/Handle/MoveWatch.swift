internal import PenstockCore

/// What a task that waits in a store asks now and then: whether the queues go to another one, so that nothing it waits for comes here.
///
/// A wait that ends with nothing new may have ended because of that, and the store is asked. The task then looks once more, as what came
/// before the move came here, and is told when it finds nothing again.
struct MoveWatch {
    private var hasWaited = false
    private var refusal: PenstockError?

    /// To be called when a look has found nothing new. While workers may settle what they have, that may be what is waited for.
    ///
    /// - Returns: whether to wait; otherwise to look once more.
    /// - Throws: `storeMoved` when that was done; what the store throws.
    mutating func mayWait(in queue: QueueName, _ storage: any MessageStore) async throws -> Bool {
        if let refusal { throw refusal }
        if hasWaited, let move = try await storage.status(of: queue).move, move.phase != .draining {
            refusal = move.refusal
            return false
        }
        hasWaited = true
        return true
    }

    mutating func foundNews() { self = MoveWatch() }
}
