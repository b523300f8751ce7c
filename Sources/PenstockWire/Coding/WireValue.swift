import PenstockCore

/// A value that goes between a client and a server.
///
/// The parts of a value follow each other without names: both sides know the order, and both are of one ``WireFormat/version``.
package protocol WireValue: Sendable {
    func write(to writer: inout WireWriter)

    /// Reads what ``write(to:)`` has written.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` when the bytes are no such value.
    init(from reader: inout WireReader) throws
}

/// What both sides have to agree on.
package enum WireFormat {
    /// Rises whenever a value is written in another way, or a call is added, removed or changed.
    package static let version = 8
    /// The type of the bodies, by which a server knows the version of its client.
    package static let contentType = "application/vnd.penstock.store; version=\(version)"
    /// The header by which a client says which store it has opened (``PenstockCore/StoreID``). Another one does nothing for it.
    package static let storeHeader = "Penstock-Store"
    /// Where calls go.
    package static let callPath = "/v1/store"
    /// Where waits for rings go.
    package static let ringPath = "/v1/store/rings"
    /// Bytes of a call: those of the largest batch, and of what goes with its messages.
    package static let requestBytesMax = 2 * Limits.batchBytesMax
    /// Bytes of a ``RingWait``.
    package static let ringBytesMax = 1024
}
