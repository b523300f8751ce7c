import PenstockCore

extension MissedFirings: WireCase {}
extension FiringRecord.Outcome: WireCase {}

extension Schedule: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(queue, spec, zone, message, missed, window, jitter, starts, ends)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            queue: reader(), spec: reader(), zone: reader(), message: reader(), missed: reader(), window: reader(),
            jitter: reader(), starts: reader(), ends: reader())
    }
}

extension ScheduleChange: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .put(let schedule, let replacing): writer(0 as UInt8, schedule, replacing)
        case .pause: writer(1 as UInt8)
        case .resume: writer(2 as UInt8)
        case .run: writer(3 as UInt8)
        case .remove: writer(4 as UInt8)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .put(try reader(), replacing: try reader())
            case 1: .pause
            case 2: .resume
            case 3: .run
            case 4: .remove
            default: throw PenstockError.noWireValue
            }
    }
}

extension ScheduleQuery: WireValue {
    package func write(to writer: inout WireWriter) { writer(after, limit) }
    package init(from reader: inout WireReader) throws { self.init(after: try reader(), limit: try reader()) }
}

extension FiringRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(due, firedAt, outcome, sequence) }
    package init(from reader: inout WireReader) throws {
        try self.init(due: reader(), firedAt: reader(), outcome: reader(), sequence: reader())
    }
}

extension ScheduleRecord: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(name, schedule, isPaused, nextDue, isReckoned, firedCount, missedCount, problem, firings)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            name: reader(), schedule: reader(), isPaused: reader(), nextDue: reader(), isReckoned: reader(),
            firedCount: reader(), missedCount: reader(), problem: reader(), firings: reader())
    }
}
