internal import PenstockCore

/// How a queue's elements become messages, and messages elements: by its ``PayloadCodec``, and then by its chain of ``ByteCodec``s.
final class QueueCodec<Element: Sendable>: Sendable {
    let elements: any PayloadCodec<Element>
    let chain: CodecChain

    init(elements: any PayloadCodec<Element>, chain: CodecChain = .empty) {
        self.elements = elements
        self.chain = chain
    }

    /// A message that carries `element`, with nothing else.
    func message(of element: Element) throws -> NewMessage {
        let (payload, header) = try chain.encode(elements.encode(element))
        return NewMessage(payload: payload, headers: header.map { [CodecChain.header: $0] } ?? [:])
    }

    /// The element that a message in a log carries.
    func decode(
        _ payload: [UInt8], _ headers: [String: String], of message: SequenceNumber
    ) throws(PenstockError) -> Element {
        let bytes = try chain.decode(payload, headers)
        do {
            return try elements.decode(bytes)
        } catch {
            throw PenstockError(
                .undecodable, "The payload of message \(message) cannot be decoded as \(Element.self): \(error)",
                cause: error)
        }
    }
}
