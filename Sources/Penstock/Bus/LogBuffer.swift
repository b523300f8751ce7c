internal import PenstockCore
internal import Synchronization

/// The events of a bus on a store: the log of a queue whose retention keeps so many of them.
final class LogBuffer: Sendable {
    let queue: Queue<[UInt8]>
    let writer: LogWriter
    let hub: LogHub<EventRecord>
    private let access: LogAccess<EventRecord>
    /// As this process knows it.
    private let knownLength: Mutex<Int>
    /// Of which kind the named subscriptions of this bus are.
    private let kinds = Mutex<[CursorName: ObjectIdentifier]>([:])

    private init(_ queue: Queue<[UInt8]>, length: Int, _ types: EventTypes) {
        self.queue = queue
        knownLength = Mutex(length)
        writer = LogWriter(queue.name, handle: queue.handle)
        access = LogAccess(
            name: queue.name, handle: queue.handle, decode: { .success(types.entry(of: $0)) }, ending: nil)
        hub = LogHub(access)
    }

    static func open(
        in store: PenstockStore, named name: String, length: Int?, _ types: EventTypes
    ) async throws -> LogBuffer {
        if let length { try check(length) }
        let name = try QueueName(name)
        let policy = QueuePolicy(retention: retention(of: length ?? EventBus.bufferLengthDefault))
        try await store.storage.configure(name, .create(policy, ifAbsent: true))
        let queue = try await store.queue(name.text, create: false)
        let known = Self.length(by: try await queue.status().policy.retention)
        let buffer = LogBuffer(queue, length: known, types)
        guard let length, length != known else { return buffer }
        if length < known, try await buffer.isNeeded(beyond: length + EventBus.backlogOnStore) { return buffer }
        try await buffer.keep(length, truncating: false)
        return buffer
    }

    /// What the log keeps beyond the buffer, so that a small one takes nothing from subscribers that keep up.
    private static func retention(of length: Int) -> Retention {
        Retention(age: nil, count: length + EventBus.backlogOnStore)
    }

    /// The length that a log with this retention was given; without a bound, all of it.
    private static func length(by retention: Retention) -> Int {
        guard let count = retention.count else { return .max }
        return count >= EventBus.backlogOnStore ? count - EventBus.backlogOnStore : count
    }

    var length: Int { knownLength.withLock { $0 } }

    /// Keeps another number of events from now on, for all processes. What is beyond a smaller one goes at once.
    func setLength(_ length: Int) async throws {
        try Self.check(length)
        try await keep(length, truncating: true)
    }

    /// - Parameter truncating: whether what is beyond the buffer goes at once, unless that becomes larger. A program that says how many it
    ///   wants as it opens the bus takes nothing from subscriptions that are behind.
    private func keep(_ length: Int, truncating: Bool) async throws {
        try await writer.inTurn { [queue] in
            var before = length
            try await queue.changePolicy { policy in
                before = Self.length(by: policy.retention)
                policy.retention = Self.retention(of: length)
            }
            guard truncating, length <= before else { return }
            let kept = Retention(age: nil, count: length)
            while try await queue.storage.prune(
                PruneRequest(queue: queue.name, retention: kept, limit: 1000)
            ).hasMore {}
        }
        knownLength.withLock { $0 = length }
    }

    /// Whether a named subscription has still to come to an event that is not one of the last `count`.
    ///
    /// - Throws: `forbidden` also where a server does not let this program read the log: it is told of no cursors then.
    private func isNeeded(beyond count: Int) async throws -> Bool {
        _ = try await queue.storage.log(LogQuery(queue: queue.name, .last(1), limit: 1))
        let cursors = try await queue.storage.status(of: queue.name).cursors.filter { !$0.name.isOfSettings }
        guard let furthestBehind = cursors.map(\.sequence).min() else { return false }
        let kept = try await beginning(ofLast: count).place.sequence
        if furthestBehind >= kept { return false }
        let next = try await queue.storage.log(LogQuery(queue: queue.name, .after(furthestBehind), limit: 1))
        return next.records.first.map { $0.sequence <= kept } ?? false
    }

    private static func check(_ length: Int) throws(PenstockError) {
        guard (0...Limits.capacityRange.upperBound).contains(length) else {
            throw PenstockError(
                .invalidInput, "A bus keeps 0 to \(Limits.capacityRange.upperBound) events, not \(length).")
        }
    }

    /// Hands everything that the bus keeps now to `body`, oldest first, a page at a time.
    func read(_ body: (EventRecord) async throws -> Void) async throws {
        var beginning = try await beginning()
        while true {
            try Task.checkCancellation()
            let stretch = try await access.read(from: beginning.place).stretch
            for item in stretch.items {
                if item.sequence > beginning.end.sequence { return }
                try await body(try item.value.get())
            }
            if stretch.isAtEnd { return }
            beginning.place = stretch.reach
        }
    }

    /// The place before the oldest of the last `count` events, or of those that the bus keeps now, and the end.
    private func beginning(ofLast count: Int? = nil) async throws -> LogBeginning {
        var (beginning, left) = try await writer.inTurn { [queue] in
            let length =
                if let count { count } else { Self.length(by: try await queue.status().policy.retention) }
            let last = min(length, Limits.rowsMax)
            let page = try await queue.storage.log(LogQuery(queue: queue.name, .last(last), limit: 1))
            return (LogBeginning(page), length - last)
        }
        // More than can be counted at once are gone through from the end: the first ones may be forgotten meanwhile.
        while left > 0 {
            let first = SequenceNumber(beginning.place.sequence.rawValue + 1)
            let query = MessageQuery(
                queue: queue.name, preceding: first, end: .last, limit: min(left, Limits.rowsMax))
            let before = try await queue.storage.messages(query)
            guard let earliest = before.first?.sequence else { break }
            beginning.place.sequence = SequenceNumber(earliest.rawValue - 1)
            left -= before.count
        }
        return beginning
    }

    /// Makes sure that a named subscription is of one kind. Its cursor has one place, and passes over other kinds. A name stays with its
    /// kind though it is removed: a subscriber of before may still be there, and would pass over what another kind has not had.
    func requireOne(_ kind: Any.Type, named name: CursorName) throws(PenstockError) {
        let first = kinds.withLock { kinds in
            let first = kinds[name] ?? ObjectIdentifier(kind)
            kinds[name] = first
            return first
        }
        guard first == ObjectIdentifier(kind) else {
            throw PenstockError(
                .invalidInput,
                "A subscription named '\(name)' is of another kind of events; give this one a name of its own, or subscribe once to a "
                    + "protocol of both.")
        }
    }

    /// The cursor of the named subscription `name`, which begins at the present end when there is none of that name.
    func beginning(named name: CursorName) -> Waiter<LogBeginning> {
        let waiter = Waiter<LogBeginning>()
        writer.inTurn { [queue] in
            let beginning: Result<LogBeginning, any Error> = await .of {
                let cursor = try await queue.storage.moveCursor(name, of: queue.name, .place(after: nil))
                let page = try await queue.storage.log(LogQuery(queue: queue.name, .last(0)))
                guard let cursor else { throw PenstockError(.storage, "The store gave no cursor '\(name)'.") }
                return LogBeginning(behind: cursor, page)
            }
            waiter.answer(beginning)
        }
        return waiter
    }
}
