import PenstockCore

extension MissedFirings: WireCase {}
extension FiringRecord.Outcome: WireCase {}

extension Schedule: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(queue, spec, zone, message, missed, window, jitter, starts, ends)
    }

    package init(from reader: inout WireReader) throws {
        self.init(
            queue: try reader(), spec: try reader(), zone: try reader(), message: try reader(),
            missed: try reader(), window: try reader(), jitter: try reader(), starts: try reader(),
            ends: try reader())
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
        self.init(due: try reader(), firedAt: try reader(), outcome: try reader(), sequence: try reader())
    }
}

extension ScheduleRecord: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(name, schedule, isPaused, nextDue, isReckoned, firedCount, missedCount, problem, firings)
    }

    package init(from reader: inout WireReader) throws {
        self.init(
            name: try reader(), schedule: try reader(), isPaused: try reader(), nextDue: try reader(),
            isReckoned: try reader(), firedCount: try reader(), missedCount: try reader(), problem: try reader(),
            firings: try reader())
    }
}
