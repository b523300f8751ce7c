internal import PenstockCore

/// What is to be done with a log next, in the order in which it was asked for, as a value.
///
/// Neighbours of one kind go together: many appends make one call of the store, and beginnings that are asked for at the same moment are one.
struct LogStaging: Sendable {
    /// Names one append.
    typealias Name = UInt64
    typealias Answer = @Sendable (Result<Receipt, any Error>) -> Void

    /// One message to append.
    struct Append: Sendable {
        var name: Name
        var message: NewMessage
        /// Whether nobody waits for the answer, so that the number of these has a bound, and so have their bytes.
        var isHandedOver: Bool
        var answer: Answer
    }

    /// What to do next.
    enum Step: Sendable {
        case append([Append])
        case beginning(last: Int, [Waiter<LogBeginning>])
        case perform(@Sendable () async -> Void)
    }

    /// Messages in one call of the store, and bytes of their payloads.
    static let batchCountMax = 1000
    static let batchBytesMax = 8 * 1024 * 1024

    /// Steps that nothing is added to any more.
    private var line: [Step] = []
    /// Appends behind the line, which go together; moved out whole, so that no message is copied in between.
    private var gathered: [Append] = []
    private var gatheredBytes = 0
    private var isWorking = false
    private var namesGiven: Name = 0
    /// Messages that wait, or are being written, and that nobody waits for.
    private(set) var handedOver = 0
    /// Bytes of the payloads of these.
    private(set) var handedOverBytes = 0

    /// A name that no other append has.
    mutating func newName() -> Name {
        namesGiven += 1
        return namesGiven
    }

    /// - Returns: for each of these whether the caller has to begin to work off the line.
    mutating func add(_ append: Append) -> Bool {
        let bytes = append.message.payload.count
        if append.isHandedOver {
            handedOver += 1
            handedOverBytes += bytes
        }
        let isFull = gathered.count == Self.batchCountMax || gatheredBytes + bytes > Self.batchBytesMax
        if isFull { closeGathered() }
        gathered.append(append)
        gatheredBytes += bytes
        return beginWork()
    }

    mutating func add(_ waiter: Waiter<LogBeginning>, last count: Int) -> Bool {
        closeGathered()
        var waiters: [Waiter<LogBeginning>] = []
        if case .beginning(count, let neighbours)? = line.last {
            line.removeLast()
            waiters = neighbours
        }
        waiters.append(waiter)
        line.append(.beginning(last: count, waiters))
        return beginWork()
    }

    mutating func add(_ body: @escaping @Sendable () async -> Void) -> Bool {
        closeGathered()
        line.append(.perform(body))
        return beginWork()
    }

    private mutating func beginWork() -> Bool {
        defer { isWorking = true }
        return !isWorking
    }

    /// Puts what was gathered into the line.
    private mutating func closeGathered() {
        let appends = takeGathered()
        if !appends.isEmpty { line.append(.append(appends)) }
    }

    private mutating func takeGathered() -> [Append] {
        defer {
            gathered = []
            gatheredBytes = 0
        }
        return gathered
    }

    /// Takes back an append that nobody has begun with.
    mutating func withdraw(_ name: Name) -> Append? {
        guard let append = withdrawFromGathered(name) ?? withdrawFromLine(name) else { return nil }
        answered([append])
        return append
    }

    private mutating func withdrawFromGathered(_ name: Name) -> Append? {
        guard let index = gathered.firstIndex(where: { $0.name == name }) else { return nil }
        gatheredBytes -= gathered[index].message.payload.count
        return gathered.remove(at: index)
    }

    private mutating func withdrawFromLine(_ name: Name) -> Append? {
        for (place, step) in line.enumerated() {
            guard case .append(var appends) = step, let index = appends.firstIndex(where: { $0.name == name }) else {
                continue
            }
            let append = appends.remove(at: index)
            if appends.isEmpty { line.remove(at: place) } else { line[place] = .append(appends) }
            return append
        }
        return nil
    }

    /// What to do next; `nil` when nothing is left, and the work is over until something is added.
    mutating func next() -> Step? {
        if !line.isEmpty { return line.removeFirst() }
        let appends = takeGathered()
        if !appends.isEmpty { return .append(appends) }
        isWorking = false
        return nil
    }

    /// These were answered.
    mutating func answered(_ appends: [Append]) {
        for append in appends where append.isHandedOver {
            handedOver -= 1
            handedOverBytes -= append.message.payload.count
        }
    }
}
