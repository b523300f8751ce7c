import PenstockCore

extension LogQuery: WireValue {
    package func write(to writer: inout WireWriter) { writer(queue, start, limit, cursor) }
    package init(from reader: inout WireReader) throws {
        try self.init(queue: reader(), reader(), limit: reader(), cursor: reader())
    }
}

extension LogQuery.Start: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .after(let sequence): writer(0 as UInt8, sequence)
        case .last(let count): writer(1 as UInt8, count)
        case .preceding(let sequence, let count): writer(2 as UInt8, sequence, count)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .after(try reader())
            case 1: .last(try reader())
            case 2: .preceding(try reader(), try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension LogRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(sequence, enqueuedAt, headers, payload) }
    package init(from reader: inout WireReader) throws {
        try self.init(sequence: reader(), enqueuedAt: reader(), headers: reader(), payload: reader())
    }
}

extension LogPage: WireValue {
    package func write(to writer: inout WireWriter) { writer(records, count, isAtEnd, end, accepted, cursor) }

    package init(from reader: inout WireReader) throws {
        try self.init(
            records: reader(), count: reader(), isAtEnd: reader(), end: reader(), accepted: reader(), cursor: reader())
    }
}

extension PruneRequest: WireValue {
    package func write(to writer: inout WireWriter) { writer(queue, retention, limit, passesKept) }
    package init(from reader: inout WireReader) throws {
        try self.init(queue: reader(), retention: reader(), limit: reader())
        passesKept = try reader()
    }
}

extension Pruned: WireValue {
    package func write(to writer: inout WireWriter) { writer(messages, hasMore) }
    package init(from reader: inout WireReader) throws { try self.init(messages: reader(), hasMore: reader()) }
}
