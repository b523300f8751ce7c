import PenstockCore

extension StoreStatus: WireValue {
    package func write(to writer: inout WireWriter) { writer(queues, workers, cursors, move) }
    package init(from reader: inout WireReader) throws {
        try self.init(queues: reader(), workers: reader(), cursors: reader(), move: reader())
    }
}

extension StoreMove: WireValue {
    package func write(to writer: inout WireWriter) { writer(phase.rawValue, source, target) }
    package init(from reader: inout WireReader) throws {
        guard let phase = Phase(rawValue: try reader()) else { throw PenstockError.noWireValue }
        try self.init(phase: phase, source: reader(), target: reader())
    }
}

extension QueueStatus: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(name, policy, isPaused, isDeleting, depths, totals, oldestReady, oldestLease, latency)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            name: reader(), policy: reader(), isPaused: reader(), isDeleting: reader(), depths: reader(),
            totals: reader(), oldestReady: reader(), oldestLease: reader())
        latency = try reader()
    }
}

extension QueueLatency: WireValue {
    package func write(to writer: inout WireWriter) { writer(wait, work) }

    package init(from reader: inout WireReader) throws {
        self.init()
        wait = try reader()
        work = try reader()
    }
}

extension LatencyHistogram: WireValue {
    package func write(to writer: inout WireWriter) { writer(stored) }

    package init(from reader: inout WireReader) throws {
        guard let histogram = LatencyHistogram(stored: try reader()) else { throw PenstockError.noWireValue }
        self = histogram
    }
}

extension Depths: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(pending, scheduled, blocked, ready, leased, dead, kept)
    }

    package init(from reader: inout WireReader) throws {
        self.init()
        (pending, scheduled, blocked) = (try reader(), try reader(), try reader())
        (ready, leased, dead, kept) = (try reader(), try reader(), try reader(), try reader())
    }
}

extension Totals: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(enqueued, done, dead, dropped, cancelled, retried, reclaimed)
    }

    package init(from reader: inout WireReader) throws {
        self.init()
        (enqueued, done, dead, dropped) = (try reader(), try reader(), try reader(), try reader())
        (cancelled, retried, reclaimed) = (try reader(), try reader(), try reader())
    }
}

extension WorkerRecord: WireValue {
    package func write(to writer: inout WireWriter) {
        writer(id, name, processID, startedAt, isAlive, leased, oldestClaim)
    }

    package init(from reader: inout WireReader) throws {
        try self.init(
            id: reader(), name: reader(), processID: reader(), startedAt: reader(), isAlive: reader(), leased: reader(),
            oldestClaim: reader())
    }
}

extension CursorRecord: WireValue {
    package func write(to writer: inout WireWriter) { writer(queue, name, sequence, missed, note, movedAt) }

    package init(from reader: inout WireReader) throws {
        try self.init(
            queue: reader(), name: reader(), sequence: reader(), missed: reader(), note: reader(), movedAt: reader())
    }
}

extension CursorMove: WireValue {
    package func write(to writer: inout WireWriter) {
        switch self {
        case .place(let sequence, let note): writer(0 as UInt8, sequence, note)
        case .advance(let sequence, let missed): writer(1 as UInt8, sequence, missed)
        case .remove: writer(2 as UInt8)
        }
    }

    package init(from reader: inout WireReader) throws {
        self =
            switch try reader() as UInt8 {
            case 0: .place(after: try reader(), note: try reader())
            case 1: .advance(to: try reader(), missed: try reader())
            case 2: .remove
            default: throw PenstockError.noWireValue
            }
    }
}
