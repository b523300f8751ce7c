import PenstockCore

extension LineCommand: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .cancel: writer(0 as UInt8)
        case .requestCancel(let time): writer(1 as UInt8, time)
        case .redrive: writer(2 as UInt8)
        case .discard: writer(3 as UInt8)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .cancel
            case 1: .requestCancel(within: try reader())
            case 2: .redrive
            case 3: .discard
            default: throw PenstockError.noWireValue
            }
    }
}

extension Selection: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .sequences(let sequences): writer(0 as UInt8, sequences)
        case .queue(let queue, let states, let group, let filter, let limit, let expected):
            writer(1 as UInt8, queue, states, group, filter, limit, expected)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .sequences(try reader())
            case 1:
                .queue(
                    try reader(), states: try reader(), group: try reader(), matching: try reader(),
                    limit: try reader(), expected: try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension WaitReason: WireValue {
    package func write(to writer: inout WireWriter) { writer(message, holder, causes) }
    package init(from reader: inout WireReader) throws {
        try self.init(message: reader(), holder: reader(), causes: reader())
    }
}

extension WaitReason.Holder: WireValue {
    package func write(to writer: inout WireWriter) { writer(worker, name, isAlive) }
    package init(from reader: inout WireReader) throws {
        try self.init(worker: reader(), name: reader(), isAlive: reader())
    }
}

extension WaitReason.Other: WireValue {
    package func write(to writer: inout WireWriter) { writer(sequence, state, task, due, holder) }

    package init(from reader: inout WireReader) throws {
        try self.init(sequence: reader(), state: reader(), task: reader(), due: reader(), holder: reader())
    }
}

extension WaitReason.Delay: WireCase {}

extension WaitReason.Count: WireValue {
    package func write(to writer: inout WireWriter) { writer(isMore ? count + 1 : count) }
    package init(from reader: inout WireReader) throws { try self.init(reader()) }
}

extension WaitReason.Cause: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .due(let moment, let delay): writer(0 as UInt8, moment, delay)
        case .event(let name): writer(1 as UInt8, name)
        case .task(let other): writer(2 as UInt8, other)
        case .moreTasks: writer(3 as UInt8)
        case .untold: writer(4 as UInt8)
        case .groupPaused: writer(5 as UInt8)
        case .permit(let other): writer(6 as UInt8, other)
        case .morePermits: writer(7 as UInt8)
        case .before(let count): writer(8 as UInt8, count)
        case .groupHeld(let moment): writer(9 as UInt8, moment)
        case .groupRate(let opens): writer(10 as UInt8, opens)
        case .policyChange: writer(11 as UInt8)
        case .queueDeleting: writer(12 as UInt8)
        case .queuePaused: writer(13 as UInt8)
        case .limit(let count, let leased): writer(14 as UInt8, count, leased)
        case .sharedLimit(let name, let count, let leased): writer(15 as UInt8, name, count, leased)
        case .rate(let opens): writer(16 as UInt8, opens)
        case .ahead(let count): writer(17 as UInt8, count)
        case .noWorker: writer(18 as UInt8)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .due(try reader(), try reader())
            case 1: .event(try reader())
            case 2: .task(try reader())
            case 3: .moreTasks
            case 4: .untold
            case 5: .groupPaused
            case 6: .permit(try reader())
            case 7: .morePermits
            case 8: .before(try reader())
            case 9: .groupHeld(until: try reader())
            case 10: .groupRate(opens: try reader())
            case 11: .policyChange
            case 12: .queueDeleting
            case 13: .queuePaused
            case 14: .limit(try reader(), leased: try reader())
            case 15: .sharedLimit(try reader(), try reader(), leased: try reader())
            case 16: .rate(opens: try reader())
            case 17: .ahead(try reader())
            case 18: .noWorker
            default: throw PenstockError.noWireValue
            }
    }
}
