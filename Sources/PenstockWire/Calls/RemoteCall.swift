package import PenstockCore

/// One call of a `MessageStore` as it goes to a server: its number, and what it asks of the store there.
package struct RemoteCall<each Part: WireValue, Answer: WireValue>: Sendable {
    /// By which the server knows it. Never used for another call.
    package let id: UInt8
    /// Whether it changes nothing. Such a call can be made again when its answer was lost.
    package let isReading: Bool
    private let perform: @Sendable (any MessageStore, repeat each Part) async throws -> Answer

    init(
        _ id: UInt8, isReading: Bool = false,
        _ perform: @escaping @Sendable (any MessageStore, repeat each Part) async throws -> Answer
    ) {
        self.id = id
        self.isReading = isReading
        self.perform = perform
    }

    /// What a client sends.
    package func request(_ parts: repeat each Part) -> RemoteRequest<Answer> {
        var writer = WireWriter()
        writer(id)
        writer(repeat each parts)
        return RemoteRequest(bytes: writer.bytes, isReading: isReading)
    }

    /// What was sent, behind the number.
    package func parts(of reader: inout WireReader) throws -> (repeat each Part) {
        let parts = (repeat try (each Part)(from: &reader))
        try reader.end()
        return parts
    }

    package func callAsFunction(_ store: any MessageStore, _ parts: repeat each Part) async throws -> Answer {
        try await perform(store, repeat each parts)
    }
}

/// A call on its way to a server.
package struct RemoteRequest<Answer: WireValue>: Sendable {
    /// The call's number, and what belongs to it.
    package let bytes: [UInt8]
    /// Whether it changes nothing.
    package let isReading: Bool
}

/// What a server answers to a call.
package enum RemoteReply<Answer: WireValue>: WireValue {
    /// What the store gave.
    case answer(Answer)
    /// What the store threw.
    case error(WireError)

    package func write(to writer: inout WireWriter) {
        switch self {
        case .answer(let answer): writer(true, answer)
        case .error(let error): writer(false, error)
        }
    }

    package init(from reader: inout WireReader) throws {
        self = try reader() ? .answer(try reader()) : .error(try reader())
    }
}
