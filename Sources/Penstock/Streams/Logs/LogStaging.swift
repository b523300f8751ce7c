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
        /// Whether nobody waits for the answer, so that the number of these has a bound.
        var isHandedOver: Bool
        var answer: Answer
    }

    /// What to do next.
    enum Step: Sendable {
        case append([Append])
        case beginning(last: Int, [Waiter<LogBeginning>])
        case perform(@Sendable () async -> Void)
    }

    private enum Entry {
        case append(Append)
        case beginning(last: Int, Waiter<LogBeginning>)
        case perform(@Sendable () async -> Void)
    }

    /// Messages in one call of the store, and bytes of their payloads.
    static let batchCountMax = 1000
    static let batchBytesMax = 8 * 1024 * 1024

    private var line: [Entry] = []
    private var isWorking = false
    private var namesGiven: Name = 0
    /// Messages that wait, or are being written, and that nobody waits for.
    private(set) var handedOver = 0

    /// A name that no other append has.
    mutating func newName() -> Name {
        namesGiven += 1
        return namesGiven
    }

    /// - Returns: for each of these whether somebody has to begin to work off the line.
    mutating func add(_ append: Append) -> Bool {
        if append.isHandedOver { handedOver += 1 }
        return add(.append(append))
    }

    mutating func add(_ waiter: Waiter<LogBeginning>, last count: Int) -> Bool { add(.beginning(last: count, waiter)) }

    mutating func add(_ body: @escaping @Sendable () async -> Void) -> Bool { add(.perform(body)) }

    private mutating func add(_ entry: Entry) -> Bool {
        line.append(entry)
        defer { isWorking = true }
        return !isWorking
    }

    /// Takes back an append that nobody has begun with.
    mutating func withdraw(_ name: Name) -> Append? {
        let index = line.firstIndex { if case .append(let append) = $0 { append.name == name } else { false } }
        guard let index, case .append(let append) = line.remove(at: index) else { return nil }
        if append.isHandedOver { handedOver -= 1 }
        return append
    }

    /// What to do next; `nil` when nothing is left, and the work is over until something is added.
    mutating func next() -> Step? {
        switch line.first {
        case nil:
            isWorking = false
            return nil
        case .append:
            var batch: [Append] = []
            var bytes = 0
            for case .append(let append) in line.prefix(while: { if case .append = $0 { true } else { false } }) {
                bytes += append.message.payload.count
                if batch.count == Self.batchCountMax || bytes > Self.batchBytesMax && !batch.isEmpty { break }
                batch.append(append)
            }
            line.removeFirst(batch.count)
            return .append(batch)
        case .beginning(let count, _):
            var waiters: [Waiter<LogBeginning>] = []
            for case .beginning(count, let waiter) in line.prefix(while: {
                if case .beginning(count, _) = $0 { true } else { false }
            }) { waiters.append(waiter) }
            line.removeFirst(waiters.count)
            return .beginning(last: count, waiters)
        case .perform(let body):
            line.removeFirst()
            return .perform(body)
        }
    }

    /// These were answered.
    mutating func answered(_ appends: [Append]) {
        handedOver -= appends.count { $0.isHandedOver }
    }
}
