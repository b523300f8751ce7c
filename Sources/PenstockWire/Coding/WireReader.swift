package import PenstockCore

/// Takes values from bytes that may be anything: whatever they say of themselves, no more is read or kept than there is.
package struct WireReader {
    private let bytes: [UInt8]
    private var position = 0
    /// How many values more the lists of a call may have, and how many entries its dictionaries.
    private var valuesLeft = Self.requestCountMax
    private var entriesLeft = 2 * Limits.batchCountMax * Limits.headerCountMax
    /// Whether a store has written what is read. Its names were checked as they came to it, and are not checked again.
    package let isFromStore: Bool

    package init(_ bytes: [UInt8], isFromStore: Bool) {
        self.bytes = bytes
        self.isFromStore = isFromStore
    }

    package mutating func callAsFunction<Value: WireValue>() throws -> Value { try Value(from: &self) }

    /// Throws when there is something behind the last value.
    package func end() throws(PenstockError) { if left > 0 { throw .noWireValue } }

    var left: Int { bytes.count - position }

    mutating func nextByte() throws(PenstockError) -> UInt8 {
        guard position < bytes.count else { throw .noWireValue }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func next(_ count: Int) throws(PenstockError) -> ArraySlice<UInt8> {
        guard count <= left else { throw .noWireValue }
        defer { position += count }
        return bytes[position..<position + count]
    }

    mutating func nextVarying() throws(PenstockError) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: 0, through: 63, by: 7) {
            let byte = try nextByte()
            // Of the tenth byte one bit is left.
            if shift == 63, byte > 1 { break }
            number |= UInt64(byte & 0x7F) << UInt64(shift)
            if byte < 0x80 { return number }
        }
        throw .noWireValue
    }

    /// How many bytes follow, or values of one byte at least.
    mutating func nextCount() throws(PenstockError) -> Int {
        guard let count = Int(exactly: try nextVarying()), count <= left else { throw .noWireValue }
        return count
    }

    /// How many values of a list follow. All lists of a call together have no more of them than ``requestCountMax``, so that a few
    /// bytes do not become a lot of memory.
    mutating func nextListCount() throws(PenstockError) -> Int {
        let count = try nextCount()
        if !isFromStore {
            guard count <= valuesLeft else { throw .noWireValue }
            valuesLeft -= count
        }
        return count
    }

    /// How many entries of a dictionary follow. What a call has of them are the headers of its messages.
    mutating func nextEntryCount() throws(PenstockError) -> Int {
        let count = try nextCount()
        if !isFromStore {
            guard count <= entriesLeft else { throw .noWireValue }
            entriesLeft -= count
        }
        return count
    }

    /// The dependencies of a workflow and its tasks, of which there may be the most, and room for what a release adds.
    static let requestCountMax = Limits.dependencyCountMax + 2 * Limits.taskCountMax
}

extension PenstockError {
    /// Bytes are not what both sides have agreed on.
    package static let noWireValue = PenstockError(
        .invalidInput, "The bytes are not what a client and a server of this release send each other.")
}
