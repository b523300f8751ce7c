/// Turns a queue's elements into payload bytes and back.
///
/// A codec must read what earlier versions of the program wrote: messages outlive the program that enqueued them.
public protocol PayloadCodec<Element>: Sendable {
    /// What the queue carries.
    associatedtype Element: Sendable

    /// The payload that stands for `element`. What it throws, `enqueue` throws, and nothing is enqueued.
    func encode(_ element: Element) throws -> [UInt8]

    /// The element that `bytes` stand for. When it throws, the message becomes a dead letter with that error.
    func decode(_ bytes: [UInt8]) throws -> Element
}

/// Payloads that are just bytes.
public struct BytesCodec: PayloadCodec {
    /// Makes the codec.
    public init() {}

    /// The bytes themselves.
    public func encode(_ element: [UInt8]) -> [UInt8] { element }

    /// The bytes themselves.
    public func decode(_ bytes: [UInt8]) -> [UInt8] { bytes }
}
