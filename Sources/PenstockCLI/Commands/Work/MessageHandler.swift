import Penstock

/// What a worker has a command do with each message.
protocol MessageHandler: Sendable {
    /// Calls `body`, during which messages are handled, with what that takes.
    ///
    /// - Parameters:
    ///   - guardians: what sees to it that no process outlives the worker.
    ///   - stops: the wish that what runs should end.
    ///   - onFailure: is told why no message can be handled any more.
    func use(
        in guardians: Guardians, stops: StopRequests, onFailure: @escaping @Sendable (Failure) -> Void,
        _ body: () async throws -> Void
    ) async throws

    /// Has the command work on one message.
    ///
    /// - Throws: what the message comes to, in the worker's words; ``Failure`` when no other message would fare better.
    func handle(_ delivery: Delivery<[UInt8]>, in guardians: Guardians, stops: StopRequests) async throws
}

extension MessageHandler {
    func use(
        in guardians: Guardians, stops: StopRequests, onFailure: @escaping @Sendable (Failure) -> Void,
        _ body: () async throws -> Void
    ) async throws {
        try await body()
    }
}
