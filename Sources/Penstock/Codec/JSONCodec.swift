public import Foundation

/// Payloads as JSON, which people and other programs can read in the file.
public struct JSONCodec<Element: Codable & Sendable>: PayloadCodec {
    private let encoder: JSONEncoder
    private let decoder: JSONDecoder

    /// Makes the codec that queues of `Codable` elements have unless they are told otherwise: Foundation's own
    /// strategies, with keys in order, so that equal elements have equal payloads.
    public init() {
        self.init(encoder: .forPayloads(), decoder: JSONDecoder())
    }

    /// Makes a codec with strategies of the caller's. Nobody may change the two afterwards.
    public init(encoder: JSONEncoder, decoder: JSONDecoder) {
        self.encoder = encoder
        self.decoder = decoder
    }

    /// The element as UTF-8 JSON.
    public func encode(_ element: Element) throws -> [UInt8] {
        try [UInt8](encoder.encode(element))
    }

    /// The element that the JSON stands for.
    public func decode(_ bytes: [UInt8]) throws -> Element {
        try decoder.decode(Element.self, from: Data(bytes))
    }
}
