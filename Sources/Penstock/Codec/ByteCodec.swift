/// Changes payloads on their way into a queue, and back: compresses or encrypts them. A queue has a chain of them
/// (``PenstockStore/queue(_:codec:codecs:policy:create:)``), which comes after its ``PayloadCodec``.
///
/// Which codecs a payload went through is in its message's header `penstock-codec`: `deflate,aes-gcm:2026-01`. So a message is read by
/// what it says of itself, whatever the queue's chain is by then. A codec must read what earlier versions of the program wrote, as messages
/// outlive the program that enqueued them.
///
/// The product PenstockCodecs has compression and encryption.
public protocol ByteCodec: Sendable {
    /// By what name the header knows it: 1 to 32 lower-case letters, digits or `-`. It must stay.
    var name: String { get }

    /// The bytes that stand for `bytes`; `nil` when they are left as they are, and the header does not name the codec. What it throws,
    /// `enqueue` throws, and nothing is enqueued.
    func encode(_ bytes: [UInt8]) throws -> CodedBytes?

    /// The bytes that `coded` stands for. When it throws, the message becomes a dead letter with that error, for the reason
    /// `undecodable`.
    func decode(_ coded: CodedBytes) throws -> [UInt8]
}

/// What a ``ByteCodec`` makes of a payload.
public struct CodedBytes: Hashable, Sendable {
    /// The bytes.
    public var bytes: [UInt8]
    /// What decoding has to know beside them, such as which key: 1 to 100 letters, digits, `.`, `-` or `_`. It is in the header, where
    /// everybody can read it.
    public var parameter: String?

    /// Makes what a codec gives.
    public init(_ bytes: [UInt8], parameter: String? = nil) {
        self.bytes = bytes
        self.parameter = parameter
    }
}
