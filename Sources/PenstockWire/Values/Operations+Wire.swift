package import PenstockCore

extension StoreOperation: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .enqueue(let messages, let queue, let durability): writer(0 as UInt8, messages, queue, durability)
        case .settle(let settlements): writer(1 as UInt8, settlements)
        case .claim(let request): writer(2 as UInt8, request)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .enqueue(try reader(), to: try reader(), durability: try reader())
            case 1: .settle(try reader())
            case 2: .claim(try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension StoreAnswer: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .enqueued(let receipts): writer(0 as UInt8, receipts)
        case .settled(let results): writer(1 as UInt8, results)
        case .claimed(let claim): writer(2 as UInt8, claim)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .enqueued(try reader())
            case 1: .settled(try reader())
            case 2: .claimed(try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension Performed: WireValue {
    package func write(to writer: inout WireWriter) { writer(answers, failure.map(WireError.init)) }

    package init(from reader: inout WireReader) throws {
        try self.init(answers: reader(), failure: (reader() as WireError?)?.error)
    }
}

/// An error as the other side is told of it. What is not Penstock's own goes as `storage`, with its text.
package struct WireError: WireValue {
    package let error: PenstockError

    package init(_ error: any Error) {
        self.error = error as? PenstockError ?? PenstockError(.storage, "The store failed: \(error)")
    }

    package func write(to writer: inout WireWriter) { writer(error.code.rawValue, error.message, error.receipts) }

    package init(from reader: inout WireReader) throws {
        var error = PenstockError(PenstockError.Code(rawValue: try reader()), try reader())
        error.receipts = try reader()
        self.error = error
    }
}

/// What hands messages to whoever has asked: should the answer not arrive, they are to be given back.
package protocol HandsOver {
    /// What is handed over.
    var leases: [Lease] { get }
}

extension Claim: HandsOver {
    package var leases: [Lease] { messages.map(\.lease) }
}

extension Performed: HandsOver {
    package var leases: [Lease] {
        answers.flatMap { answer -> [Lease] in
            guard case .claimed(let claim) = answer else { return [] }
            return claim.leases
        }
    }
}
