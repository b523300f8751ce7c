/// Puts values one behind the other.
package struct WireWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func callAsFunction<each Value: WireValue>(_ values: repeat each Value) {
        repeat (each values).write(to: &self)
    }

    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    mutating func append(contentsOf more: some Collection<UInt8>) { bytes.append(contentsOf: more) }

    /// Seven bits a byte, the lowest first; all bytes but the last have the highest bit (LEB128, as in DWARF 5, 7.6).
    mutating func append(varying number: UInt64) {
        var left = number
        while left >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
        bytes.append(UInt8(left))
    }
}
