/// Writes numbers and bytes into memory of a fixed size.
struct ByteWriter {
    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0
    /// Whether something had no room.
    private(set) var isOver = false

    init(_ memory: UnsafeMutableRawBufferPointer) {
        self.memory = memory
    }

    mutating func write<Integer: FixedWidthInteger>(_ integer: Integer) {
        guard let place = take(MemoryLayout<Integer>.size) else { return }
        memory.storeBytes(of: integer.littleEndian, toByteOffset: place, as: Integer.self)
    }

    /// Writes how many bytes there are, and the bytes.
    mutating func write(_ bytes: some Collection<UInt8>) {
        write(UInt32(clamping: bytes.count))
        guard let place = take(bytes.count) else { return }
        UnsafeMutableRawBufferPointer(rebasing: memory[place..<place + bytes.count]).copyBytes(from: bytes)
    }

    /// Takes back all but the first `count` bytes.
    mutating func goBack(to count: Int) {
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

/// Reads what a ``ByteWriter`` wrote, and nothing beyond the memory, whatever is there.
struct ByteReader {
    private let memory: UnsafeRawBufferPointer
    private var place = 0

    init(_ memory: UnsafeMutableRawBufferPointer) {
        self.memory = UnsafeRawBufferPointer(memory)
    }

    mutating func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        take(MemoryLayout<Integer>.size).map {
            Integer(littleEndian: memory.loadUnaligned(fromByteOffset: $0, as: Integer.self))
        }
    }

    mutating func bytes() -> [UInt8]? {
        guard let count = integer(UInt32.self), let start = take(Int(count)) else { return nil }
        return Array(memory[start..<start + Int(count)])
    }

    private mutating func take(_ size: Int) -> Int? {
        guard size <= memory.count - place else { return nil }
        defer { place += size }
        return place
    }
}
