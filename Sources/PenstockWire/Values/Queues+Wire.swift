import PenstockCore

extension OverflowPolicy: WireCase {}
extension ExpiryPolicy: WireCase {}
extension OnDead: WireCase {}

extension Capacity: WireValue {
    package func write(to writer: inout WireWriter) { writer(count, whenFull) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), whenFull: reader()) }
}

extension RetryPolicy: WireValue {
    package func write(to writer: inout WireWriter) { writer(attemptsMax, base, factor, cap, jitter) }

    package init(from reader: inout WireReader) throws {
        try self.init(attemptsMax: reader(), base: reader(), factor: reader(), cap: reader(), jitter: reader())
    }
}

extension Retention: WireValue {
    package func write(to writer: inout WireWriter) { writer(age, count, deadAge) }
    package init(from reader: inout WireReader) throws {
        try self.init(age: reader(), count: reader(), deadAge: reader())
    }
}

extension GroupPolicy: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .fifo(let onDead): writer(0 as UInt8, onDead)
        case .limit(let count): writer(1 as UInt8, count)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .fifo(onDead: try reader())
            case 1: .limit(try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension Rate: WireValue {
    package func write(to writer: inout WireWriter) { writer(count, period, burst) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), per: reader(), burst: reader()) }
}

extension QueuePolicy: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(
            capacity, retry, retention, groups, limit, sharedLimit, rate, ratePerKey, isFair, whenExpired)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            capacity: reader(), retry: reader(), retention: reader(), groups: reader(), limit: reader(),
            sharedLimit: reader(), rate: reader(), ratePerKey: reader(), isFair: reader(), whenExpired: reader())
    }
}

extension QueueChange: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .create(let policy, let ifAbsent): writer(0 as UInt8, policy, ifAbsent)
        case .set(let policy, let replacing): writer(1 as UInt8, policy, replacing)
        case .pause: writer(2 as UInt8)
        case .resume: writer(3 as UInt8)
        case .pauseGroup(let key): writer(4 as UInt8, key)
        case .resumeGroup(let key): writer(5 as UInt8, key)
        case .setGroupWeight(let key, let weight): writer(6 as UInt8, key, weight)
        case .delete(let force): writer(7 as UInt8, force)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .create(try reader(), ifAbsent: try reader())
            case 1: .set(try reader(), replacing: try reader())
            case 2: .pause
            case 3: .resume
            case 4: .pauseGroup(try reader())
            case 5: .resumeGroup(try reader())
            case 6: .setGroupWeight(try reader(), try reader())
            case 7: .delete(force: try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension LimitRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(name, count, leased, queues) }
    package init(from reader: inout WireReader) throws {
        try self.init(name: reader(), count: reader(), leased: reader(), queues: reader())
    }
}

extension GroupQuery: WireValue {
    package func write(to writer: inout WireWriter) { writer(queue, key, after, limit, countMax) }
    package init(from reader: inout WireReader) throws {
        try self.init(queue: reader(), key: reader(), after: reader(), limit: reader(), countMax: reader())
    }
}

extension GroupRecord: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(key, permitted, blocked, isPaused, heldBy, heldUntil, weight)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            key: reader(), permitted: reader(), blocked: reader(), isPaused: reader(), heldBy: reader(),
            heldUntil: reader(), weight: reader())
    }
}
