import PenstockCore

extension UInt8: WireValue {
    package func write(to writer: inout WireWriter) { writer.append(self) }
    package init(from reader: inout WireReader) throws { self = try reader.nextByte() }
}

extension UInt64: WireValue {
    package func write(to writer: inout WireWriter) { writer.append(varying: self) }
    package init(from reader: inout WireReader) throws { self = try reader.nextVarying() }
}

extension Int64: WireValue {
    /// Small numbers are short, whatever their sign (zigzag).
    package func write(to writer: inout WireWriter) {
        writer.append(varying: UInt64(bitPattern: self << 1 ^ self >> 63))
    }

    package init(from reader: inout WireReader) throws {
        let number = try reader.nextVarying()
        self = Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    }
}

extension Int: WireValue {
    package func write(to writer: inout WireWriter) { writer(Int64(self)) }

    package init(from reader: inout WireReader) throws {
        guard let number = Int(exactly: try Int64(from: &reader)) else { throw PenstockError.noWireValue }
        self = number
    }
}

extension Int32: WireValue {
    package func write(to writer: inout WireWriter) { writer(Int64(self)) }

    package init(from reader: inout WireReader) throws {
        guard let number = Int32(exactly: try Int64(from: &reader)) else { throw PenstockError.noWireValue }
        self = number
    }
}

extension Bool: WireValue {
    package func write(to writer: inout WireWriter) { writer.append(self ? 1 : 0) }

    package init(from reader: inout WireReader) throws {
        let byte = try reader.nextByte()
        guard byte <= 1 else { throw PenstockError.noWireValue }
        self = byte == 1
    }
}

extension Double: WireValue {
    package func write(to writer: inout WireWriter) {
        withUnsafeBytes(of: bitPattern.littleEndian) { writer.append(contentsOf: $0) }
    }

    package init(from reader: inout WireReader) throws {
        self.init(bitPattern: try reader.next(8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }
}

extension String: WireValue {
    package func write(to writer: inout WireWriter) {
        writer.append(varying: UInt64(utf8.count))
        writer.append(contentsOf: utf8)
    }

    package init(from reader: inout WireReader) throws {
        guard let text = String(validating: try reader.next(reader.nextCount()), as: UTF8.self) else {
            throw PenstockError.noWireValue
        }
        self = text
    }
}

/// Durations go in whole microseconds, as stores count them.
extension Duration: WireValue {
    package func write(to writer: inout WireWriter) { writer(wholeMicroseconds) }
    package init(from reader: inout WireReader) throws { self = .microseconds(try reader() as Int64) }
}

extension Optional: WireValue where Wrapped: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(self != nil)
        if let self { writer(self) }
    }

    package init(from reader: inout WireReader) throws { self = try reader() ? .some(try reader()) : nil }
}

extension Array: WireValue where Element: WireValue {
    package func write(to writer: inout WireWriter) {
        writer.append(varying: UInt64(count))
        if let bytes = self as? [UInt8] { return writer.append(contentsOf: bytes) }
        for element in self { writer(element) }
    }

    package init(from reader: inout WireReader) throws {
        if Element.self == UInt8.self, let bytes = Array<UInt8>(try reader.next(reader.nextCount())) as? Self {
            self = bytes
            return
        }
        let count = try reader.nextListCount()
        self = []
        for _ in 0..<count { append(try reader()) }
    }
}

extension Set: WireValue where Element: WireValue {
    package func write(to writer: inout WireWriter) { writer(Array(self)) }
    package init(from reader: inout WireReader) throws { self.init(try reader() as [Element]) }
}

extension Dictionary: WireValue where Key: WireValue, Value: WireValue {
    package func write(to writer: inout WireWriter) {
        writer.append(varying: UInt64(count))
        for (key, value) in self { writer(key, value) }
    }

    package init(from reader: inout WireReader) throws {
        let count = try reader.nextEntryCount()
        self = [:]
        for _ in 0..<count {
            let key: Key = try reader()
            let value: Value = try reader()
            guard updateValue(value, forKey: key) == nil else { throw PenstockError.noWireValue }
        }
    }
}

/// A value of which there is a list goes as its place in that.
package protocol WireCase: WireValue, CaseIterable, Equatable {}

extension WireCase {
    package func write(to writer: inout WireWriter) {
        for (index, value) in Self.allCases.enumerated() where value == self { return writer(UInt8(index)) }
    }

    package init(from reader: inout WireReader) throws {
        let (index, cases) = (Int(try reader.nextByte()), Array(Self.allCases))
        guard cases.indices.contains(index) else { throw PenstockError.noWireValue }
        self = cases[index]
    }
}

/// No value.
package struct Empty: WireValue {
    package init() {}
    package func write(to writer: inout WireWriter) {}
    package init(from reader: inout WireReader) throws {}
}
