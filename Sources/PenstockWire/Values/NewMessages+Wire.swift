import PenstockCore

extension NewMessage: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(payload, headers, priority, due, attemptsMax, uniqueKey, group, expiry, origin)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            payload: reader(), headers: reader(), priority: reader(), due: reader(), attemptsMax: reader(),
            uniqueKey: reader(), group: reader(), expiry: reader(), origin: reader())
    }
}

extension Due: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .now: writer(0 as UInt8)
        case .after(let delay): writer(1 as UInt8, delay)
        case .at(let moment): writer(2 as UInt8, moment)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .now
            case 1: .after(try reader())
            case 2: .at(try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension Expiry: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .after(let duration): writer(0 as UInt8, duration)
        case .at(let moment): writer(1 as UInt8, moment)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .after(try reader())
            case 1: .at(try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension KeyConflict: WireCase {}

extension KeyScope: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .untilEnded: writer(0 as UInt8)
        case .whileWaiting: writer(1 as UInt8)
        case .period(let period): writer(2 as UInt8, period)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .untilEnded
            case 1: .whileWaiting
            case 2: .period(try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension UniqueKey: WireValue {
    package func write(to writer: inout WireWriter) { writer(key, scope, onConflict, waitMax) }

    package init(from reader: inout WireReader) throws {
        try self.init(reader(), scope: reader(), onConflict: reader(), waitMax: reader())
    }
}

extension Receipt: WireValue {
    /// Goes instead of a state that nobody knows. No state has that place.
    private static let unknownState = UInt8.max

    package func write(to writer: inout WireWriter) {
        writer(sequence)
        if let state { writer(state) } else { writer.append(Self.unknownState) }
        writer(durability, skipped, displaced)
    }

    package init(from reader: inout WireReader) throws {
        let sequence: SequenceNumber = try reader()
        let (code, states) = (try reader.nextByte(), MessageState.allCases)
        guard code == Self.unknownState || states.indices.contains(Int(code)) else { throw PenstockError.noWireValue }
        try self.init(
            sequence: sequence, state: code == Self.unknownState ? nil : states[Int(code)], durability: reader(),
            skipped: reader(), displaced: reader())
    }
}

extension Draft: WireValue {
    package func write(to writer: inout WireWriter) { writer(message, queue) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), to: reader()) }
}
