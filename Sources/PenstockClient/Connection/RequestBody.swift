import Synchronization

/// The bytes of a request, which know whether somebody has asked for them.
///
/// The client of HTTP asks when it has a connection and has written the head. Before that nobody at the other end can have carried the
/// request out, whatever has failed.
struct RequestBody: RandomAccessCollection, Sendable {
    private final class Mark: Sendable {
        let isSet = Atomic(false)
    }

    private let bytes: [UInt8]
    private let mark = Mark()

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether they may be on their way.
    var wasSent: Bool { mark.isSet.load(ordering: .acquiring) }

    var startIndex: Int { bytes.startIndex }
    var endIndex: Int { bytes.endIndex }

    subscript(position: Int) -> UInt8 {
        setMark()
        return bytes[position]
    }

    func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        setMark()
        return try bytes.withContiguousStorageIfAvailable(body)
    }

    private func setMark() { mark.isSet.store(true, ordering: .releasing) }
}
