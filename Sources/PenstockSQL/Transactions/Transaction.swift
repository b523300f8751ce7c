package import PenstockCore
package import PenstockProcesses

/// One write transaction: what its jobs share, and what is written once for all of them at its end.
///
/// Sequence numbers and depths are read once and written once, so that neither costs anything per message.
package final class Transaction {
    package let connection: Connection
    let path: String
    package let now: Timestamp
    /// What the boot clock showed at `now`: rates go by it, and the bound holds for the moments that are written down.
    let boot: BootTime
    package let time: any TimeSource
    let random: any RandomSource
    /// What follows from the ends and the returns of tasks, and is still to be done.
    var cascade = CascadeWork()
    /// That the store's queues move to another store, or have moved there; `nil`: they stay.
    package let departure: Departure?
    /// Bytes of messages that this transaction may still remove or have written anew; none where it is 0 or less. SQLite keeps each
    /// page that a transaction touches in memory until the COMMIT, and nobody else can write meanwhile.
    var bytesLeft: Int64 = 32 << 20
    /// Whether what remote workers hold is on this boot's clock.
    var hasRebasedRemoteWorkers = false
    /// What a lease was left in whose verdict reached the store by another way than its worker; `nil`: there is no other way. The last
    /// question about a lease is its worker's own verdict.
    package var settledBefore: ((_ lease: Lease, _ isLast: Bool) throws -> SettleResult?)?
    /// The rows that were set aside, and of which no claim tells yet.
    var setAside: [SetAsideRow] = []
    /// Queues that somebody may be waiting for, beside what their accounts say.
    private var rungApart: [QueueName: Ring] = [:]

    let policies: PolicyCache
    private(set) var lastSequence: Int64
    /// The last one given before: what has a higher one came in this transaction.
    let lastSequenceBefore: Int64
    private var accounts: [Int64: QueueAccount] = [:]
    private var accountIDs: [QueueName: Int64] = [:]
    private var afterCommit: [() -> Void] = []
    private var mustFlush = false

    /// Says what a transaction reads first, to an engine that prefetches: the state, and the depths of the queues that the last
    /// transaction was about, as this one is likely to be about them, too.
    package static func prefetch(_ policies: PolicyCache, _ connection: Connection) throws {
        try connection.prefetch(readState)
        for id in policies.lastQueues { try KnownDepth.prefetch(id, connection) }
    }

    /// Begins the bookkeeping of a transaction that the engine has begun already.
    package init(
        _ connection: Connection, path: String, time: any TimeSource, random: any RandomSource, policies: PolicyCache
    ) throws {
        self.connection = connection
        self.path = path
        self.time = time
        self.random = random
        self.policies = policies
        let state = try connection.first(Self.readState) { ($0.integer(0), $0.integer(1), $0.text(2)) }
        // Once the answer is there: the right to write may have been waited for.
        (now, boot) = (time.now, time.boot)
        guard let state else {
            throw PenstockError(
                .corrupt, "\(path) has lost its row in penstock_state; run `penstock doctor --repair`.")
        }
        lastSequence = state.0
        lastSequenceBefore = state.0
        departure = try state.2.flatMap { try Departure(phase: $0, of: path, connection) }
        policies.validate(at: state.1)
        try policies.beginTransaction(connection)
    }

    func account(of name: QueueName) throws -> QueueAccount {
        if let id = accountIDs[name], let account = accounts[id] { return account }
        guard let row = try policies.row(named: name, connection) else { throw PenstockError.unknown(name) }
        return open(row)
    }

    /// The account of the queue with that id, which a row of the line names; `nil` when there is no such queue.
    func account(id: Int64) throws -> QueueAccount? {
        if let account = accounts[id] { return account }
        return try policies.row(id: id, connection).map(open)
    }

    func exists(_ name: QueueName) throws -> Bool {
        try policies.row(named: name, connection) != nil
    }

    /// The queues that have more ended messages than before this transaction.
    var queuesWithEnds: [QueueName] {
        accounts.values.filter { $0.change.kept > 0 || $0.change.dead > 0 }.map(\.name)
    }

    /// The next `count` sequence numbers.
    ///
    /// - Returns: the first of them.
    /// - Throws: `corrupt` when the file says that the last one given is one that cannot be.
    func nextSequences(_ count: Int) throws -> Int64 {
        let last = StoredRange.sequences.upperBound - Int64(count)
        guard (0...last).contains(lastSequence) else {
            throw PenstockError(
                .corrupt,
                "\(path) says that the last sequence number given is \(lastSequence), which cannot be; run `penstock "
                    + "doctor --repair`.")
        }
        defer { lastSequence += Int64(count) }
        return lastSequence + 1
    }

    /// Has the sequence numbers up to `last` given: messages that come from another store have theirs among them.
    func reserveSequences(upTo last: Int64) { lastSequence = max(lastSequence, last) }

    /// Rings for all tasks that wait for `queue` once this is committed.
    func ringAll(_ queue: QueueName) {
        rungApart[queue, default: Ring()].isForAll = true
    }

    /// The queues that somebody may be waiting for.
    var rung: [QueueName: Ring] {
        var rung = rungApart
        for account in accounts.values {
            if let ring = account.ring { rung[account.name, default: Ring()].add(ring) }
        }
        return rung
    }

    /// What to ring for once this is committed.
    package var rings: [(bucket: Int, ring: Ring)] {
        rung.map { queue, ring in
            var ring = ring
            ring.tag = RingBucket.tag(of: queue)
            return (RingBucket.of(queue), ring)
        }
    }

    /// Sees to it that the commit, if it waits for the disk, does so even when nothing else is written. Then everything
    /// that was committed before, by whichever process, is on the disk as well.
    func flush() {
        mustFlush = true
    }

    /// Takes the bytes of a message, with all that it leaves behind, from those that are left.
    ///
    /// - Returns: whether it may be removed. The last one may have more bytes than were left, so one may be at least.
    func take(bytes: Int64) -> Bool {
        if bytesLeft <= 0 { return false }
        bytesLeft -= bytes
        return true
    }

    /// Whether a call that had `before` bytes left has had some written anew, and none are left. A call that ends then has moved one
    /// message at least, and one that has none written anew goes on, however many the others of its transaction have used.
    func isUsedUp(since before: Int64) -> Bool { bytesLeft <= 0 && bytesLeft < before }

    /// How long a step in a database of a server goes on, in microseconds.
    private static let stepTimeMax = 250_000.0

    /// How much of a step's time is over: 1 is all of it. In a file none ever is: there a step is short, however slow the machine.
    var timeUsed: Double {
        connection.isServer ? Double(time.boot.microseconds - boot.microseconds) / Self.stepTimeMax : 0
    }

    /// Whether a call that takes up in another transaction what is left should end its step, behind one message at least: all others wait for
    /// this one, and a server is asked several times for a message.
    var isOverdue: Bool { timeUsed > 1 }

    /// Runs `action` once this is committed, and not otherwise.
    package func onCommit(_ action: @escaping () -> Void) {
        afterCommit.append(action)
    }

    /// Runs `body`, which writes, and undoes all of it when it throws.
    package func nested<T>(_ body: () throws -> T) throws -> T {
        let sequence = lastSequence
        let changes = accounts.mapValues { ($0.change, $0.ring) }
        let rungBefore = rungApart
        let cascadeBefore = cascade
        let setAsideBefore = setAside
        let bytesLeftBefore = bytesLeft
        try connection.run(Self.savepoint)
        do {
            let value = try body()
            try connection.run(Self.release)
            return value
        } catch {
            try connection.run(Self.undo)
            try connection.run(Self.release)
            lastSequence = sequence
            for (id, account) in accounts { account.undone(to: changes[id]) }
            rungApart = rungBefore
            hasRebasedRemoteWorkers = false
            cascade = cascade.undone(to: cascadeBefore)
            setAside = setAsideBefore
            bytesLeft = bytesLeftBefore
            throw error
        }
    }

    /// Forgets the queues read so far, after a change to one of them.
    func queuesChanged() throws {
        try writeDown()
        // What an account has found is forgotten with it; to ring once too often does no harm.
        for account in accounts.values where account.wasFull { account.ringForRoom() }
        rungApart = rung
        policies.forget()
        accounts = [:]
        accountIDs = [:]
    }

    /// Writes sequence and depths. The last thing before COMMIT.
    package func writeDown() throws {
        if lastSequence != lastSequenceBefore {
            try connection.run(Self.writeSequence, .integer(lastSequence))
        } else if mustFlush {
            // A transaction that changes nothing writes nothing, and so waits for nothing.
            try connection.run(Self.countFlush)
        }
        try ringForLimits()
        for account in accounts.values { try account.writeDown(connection) }
        policies.noteQueues(accounts.keys)
    }

    /// Rings for messages that a limit may have kept back, where fewer are leased than before.
    private func ringForLimits() throws {
        for account in accounts.values where account.change.leased < 0 {
            // Before the depths are looked at, which are counted anew where they are wrong.
            let endedCount = Int(-account.change.leased)
            for queue in try LeaseLimits.queuesToRing(of: account, connection) {
                rungApart[queue, default: Ring()].messages += endedCount
            }
        }
    }

    /// Called after COMMIT.
    package func committed() {
        for action in afterCommit { action() }
    }

    private func open(_ row: QueueRow) -> QueueAccount {
        let account = QueueAccount(row, policies.depth(of: row.id))
        accounts[row.id] = account
        accountIDs[row.name] = row.id
        return account
    }

    private static let readState = Query(
        "SELECT last_sequence, policy_version, moving FROM penstock_state WHERE id = 1",
        server: "SELECT last_sequence, policy_version, moving FROM penstock_state ORDER BY version DESC LIMIT 1")
    private static let writeSequence = Query(
        "UPDATE penstock_state SET last_sequence = ?1 WHERE id = 1",
        server: "UPDATE penstock_state SET last_sequence = ?1, \(Versions.next) WHERE \(newestState)")
    private static let countFlush = Query(
        "UPDATE penstock_state SET flush_count = flush_count + 1 WHERE id = 1",
        server: "UPDATE penstock_state SET flush_count = flush_count + 1, \(Versions.next) WHERE \(newestState)")
    private static let newestState = "version = (SELECT version FROM penstock_state ORDER BY version DESC LIMIT 1)"
    private static let savepoint = Query("SAVEPOINT penstock_nested")
    private static let release = Query("RELEASE penstock_nested")
    private static let undo = Query("ROLLBACK TO penstock_nested")
}
