package import PenstockCore

extension ClaimRequest: WireValue {
    package func write(to writer: inout WireWriter) { writer(queue, limit, lease, remoteWorker, leavesToOthers) }

    package init(from reader: inout WireReader) throws {
        try self.init(queue: reader(), limit: reader(), lease: reader(), remoteWorker: reader())
        leavesToOthers = try reader()
    }
}

extension ClaimedMessage: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(lease, attempt, enqueuedAt, priority, headers, payload, origin, task, group)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            lease: reader(), attempt: reader(), enqueuedAt: reader(), priority: reader(), headers: reader(),
            payload: reader(), origin: reader(), task: reader(), group: reader())
    }
}

extension Claim: WireValue {
    package func write(to writer: inout WireWriter) { writer(messages, nextDue, isWithheld, isLimited) }

    package init(from reader: inout WireReader) throws {
        try self.init(messages: reader(), nextDue: reader())
        isWithheld = try reader()
        isLimited = try reader()
    }
}

extension Verdict: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .done: writer(0 as UInt8)
        case .retry(let error, let outcome, let delay, let holdsGroup):
            writer(1 as UInt8, error, outcome, delay, holdsGroup)
        case .dead(let error, let reason): writer(2 as UInt8, error, reason)
        case .release: writer(3 as UInt8)
        case .suspend(let moment, let event): writer(4 as UInt8, moment, event)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .done
            case 1: try .retry(error: reader(), outcome: reader(), after: reader(), holdsGroup: reader())
            case 2: .dead(error: try reader(), reason: try reader())
            case 3: .release
            case 4: .suspend(until: try reader(), event: try reader())
            default: throw PenstockError.noWireValue
            }
    }
}

extension Settlement: WireValue {
    package func write(to writer: inout WireWriter) { writer(lease, verdict, result, added, drafts, isUnbegun) }

    package init(from reader: inout WireReader) throws {
        try self.init(reader(), reader(), result: reader(), added: reader(), drafts: reader())
        isUnbegun = try reader()
    }
}

extension SettleResult: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .settled(let state): writer(state as MessageState?)
        case .leaseLost: writer(nil as MessageState?)
        }
    }

    package init(from reader: inout WireReader) throws {
        let state: MessageState? = try reader()
        self = state.map { .settled($0) } ?? .leaseLost
    }
}

extension LeaseExtension: WireValue {
    package func write(to writer: inout WireWriter) { writer(lease, duration, keepsLonger, progress) }
    package init(from reader: inout WireReader) throws {
        try self.init(reader(), by: reader(), keepsLonger: reader(), progress: reader())
    }
}

extension LeaseStanding: WireCase {
    package static var allCases: [LeaseStanding] { [.held, .cancelRequested, .lost] }
}

extension MessageProgress: WireValue {
    package func write(to writer: inout WireWriter) { writer(fraction, text) }
    package init(from reader: inout WireReader) throws { try self.init(reader(), reader()) }
}

extension Reclaimed: WireValue {
    package func write(to writer: inout WireWriter) { writer(fromDeadWorkers, fromExpiredLeases) }
    package init(from reader: inout WireReader) throws {
        try self.init(fromDeadWorkers: reader(), fromExpiredLeases: reader())
    }
}
