import CPenstockPostgres

/// Values in the binary form in which they go to a server and come from it: big-endian.
///
/// Source: PostgreSQL's manual, "Message Formats", and the send and receive functions of its types.
enum BinaryForm {
    // The types' numbers, of pg_type: fixed, as no server changes those of its own types.
    static let boolean: Oid = 16
    static let bytes: Oid = 17
    static let integer: Oid = 20
    static let smallInteger: Oid = 21
    static let mediumInteger: Oid = 23
    static let text: Oid = 25
    static let real: Oid = 701
    static let numeric: Oid = 1700

    static func encode(_ value: Int64) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    static func encode(_ value: Double) -> [UInt8] {
        withUnsafeBytes(of: value.bitPattern.bigEndian) { Array($0) }
    }

    /// A server's text has no zero bytes; each becomes U+FFFD.
    static func encode(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return bytes.contains(0) ? Array(text.replacing("\0", with: "\u{FFFD}").utf8) : bytes
    }

    /// The whole number that a column has, whatever kind of number its type is; 0 when it is none.
    static func integer(_ bytes: UnsafeRawBufferPointer, _ type: Oid) -> Int64 {
        switch type {
        case integer: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        case mediumInteger: Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
        case smallInteger: Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
        case boolean: Int64(bytes[0])
        case real: Int64(clamping: real(bytes))
        case numeric: Int64(clamping: decimal(bytes))
        case text: Int64(String(decoding: bytes, as: UTF8.self)) ?? 0
        default: 0
        }
    }

    static func real(_ bytes: UnsafeRawBufferPointer, _ type: Oid) -> Double {
        switch type {
        case real: real(bytes)
        case numeric: decimal(bytes)
        default: Double(integer(bytes, type))
        }
    }

    private static func real(_ bytes: UnsafeRawBufferPointer) -> Double {
        Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
    }

    /// A decimal number: the count of its digits of base 10,000, the weight of the first, the sign, how many decimal places it
    /// shows, and the digits.
    private static func decimal(_ bytes: UnsafeRawBufferPointer) -> Double {
        func word(_ index: Int) -> Int16 {
            Int16(bigEndian: bytes.loadUnaligned(fromByteOffset: index * 2, as: Int16.self))
        }
        var value = 0.0
        for index in 0..<Int(word(0)) { value = value * 10_000 + Double(word(4 + index)) }
        var exponent = Int(word(1)) - Int(word(0)) + 1
        while exponent > 0 { (value, exponent) = (value * 10_000, exponent - 1) }
        while exponent < 0 { (value, exponent) = (value / 10_000, exponent + 1) }
        return word(2) == 0x4000 ? -value : value
    }
}

extension Int64 {
    /// The whole number nearest to `value` within the range; 0 for what is no number.
    fileprivate init(clamping value: Double) {
        if value.isNaN {
            self = 0
        } else if value >= 0x1p63 {
            self = .max
        } else {
            self = value <= -0x1p63 ? .min : Int64(value)
        }
    }
}
