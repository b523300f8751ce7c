/// Writes numbers and bytes into memory of a fixed size.
package struct ByteWriter {
    private let memory: UnsafeMutableRawBufferPointer
    package private(set) var count = 0
    /// Whether something had no room.
    package private(set) var isOver = false

    package init(_ memory: UnsafeMutableRawBufferPointer) {
        self.memory = memory
    }

    package mutating func write<Integer: FixedWidthInteger>(_ integer: Integer) {
        guard let offset = take(MemoryLayout<Integer>.size) else { return }
        memory.storeBytes(of: integer.littleEndian, toByteOffset: offset, as: Integer.self)
    }

    /// Writes how many bytes there are, and the bytes.
    package mutating func write(_ bytes: some Collection<UInt8>) {
        write(UInt32(clamping: bytes.count))
        guard let offset = take(bytes.count) else { return }
        UnsafeMutableRawBufferPointer(rebasing: memory[offset..<offset + bytes.count]).copyBytes(from: bytes)
    }

    package mutating func goBack(to count: Int) {
        self.count = count
        isOver = false
    }

    private mutating func take(_ size: Int) -> Int? {
        guard !isOver, size <= memory.count - count else {
            isOver = true
            return nil
        }
        defer { count += size }
        return count
    }
}

/// Reads what a ``ByteWriter`` wrote, and nothing beyond the bytes, whatever they are.
package struct ByteReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    package mutating func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        take(MemoryLayout<Integer>.size).map { bytes in
            Integer(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(as: Integer.self) })
        }
    }

    package mutating func bytes() -> [UInt8]? {
        guard let count = integer(UInt32.self) else { return nil }
        return take(Int(count)).map(Array.init)
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
