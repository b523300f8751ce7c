import PenstockCore
import PenstockSQL

/// The connection of a process's writer, and the number of its row in `penstock_writer`.
struct WriterSession {
    let connection: PostgresConnection
    let life: ServerLife
    private(set) var row: Int64
    /// How many transactions it has written down in that row.
    private var transactionCount = 0
    /// The rows that it had before, and the last transaction in each.
    private var oldRows: [(row: Int64, last: Int64)] = []

    /// After so many transactions it takes another row: a transaction that somebody has left open keeps all versions of this one.
    private static let transactionsMax = 256
    /// How many rows one transaction removes.
    private static let removedMax = 16

    init(_ server: ServerConnection) throws {
        // What the operations put in line they tell to the queue's row themselves; see the migration `old_snapshots`.
        try server.run("SET penstock.writer = 'process'")
        life = try ServerLife(server)
        connection = PostgresConnection(server)
        row = CommitMark.newRow()
    }

    var server: ServerConnection { connection.server }

    mutating func nextMark(_ number: Int64) -> CommitMark {
        if transactionCount >= Self.transactionsMax {
            oldRows.append((row, number - 1))
            (row, transactionCount) = (CommitMark.newRow(), 0)
        }
        transactionCount += 1
        return CommitMark(writer: row, number: number)
    }

    /// Takes out rows that nobody looks for any more, for the next transaction to remove.
    ///
    /// - Parameter firstPending: the first transaction whose mark may be looked for, if it is there: asked for when there is any row.
    mutating func takeOldRows(before firstPending: () -> Int64?) -> [Int64] {
        if oldRows.isEmpty { return [] }
        let first = firstPending() ?? .max
        let rows = oldRows.prefix(Self.removedMax).prefix { $0.last < first }.map(\.row)
        oldRows.removeFirst(rows.count)
        return rows
    }

    /// All rows that it may have.
    var rows: [Int64] { oldRows.map(\.row) + [row] }

    /// Begins a transaction, and waits for the other writers' end. What it reads first is asked for on the same way.
    func begin(
        until deadline: ContinuousClock.Instant, _ sessions: Sessions,
        prefetching: (PostgresConnection) throws -> Void = { _ in }
    ) throws {
        let start = ContinuousClock.now
        // The session waits for as long as a call may. One that has waited already has less time.
        let left = max(deadline - start, .milliseconds(100))
        var statements = ["BEGIN"]
        if left * 10 < sessions.busyMax * 9 {
            statements.append("SET LOCAL lock_timeout = \(left.wholeMicroseconds / 1000)")
        }
        server.deadline = start + left + Self.grace
        try server.send(statements)
        // Each statement sees what was there when it began: those behind the lock, what the last writer has left.
        try connection.prefetch(Self.takeLock)
        try prefetching(connection)
        try Self.lock(connection, sessions.clock)
        sessions.timings.recordWriterLock(since: start)
        sessions.stalls.note(since: start)
        server.deadline = max(deadline, .now + Self.workMax) + Self.grace
    }

    /// Waits for the other writers' end, in a transaction, and takes the server's time.
    static func lock(_ connection: PostgresConnection, _ clock: ServerClock) throws {
        if let time = try connection.integer(takeLock) { clock.note(time) }
    }

    // What is selected is found out once what it is selected from is there.
    private static let takeLock = Query("SELECT \(ServerClock.reading) FROM penstock_write_lock() AS locked")

    /// How long a server that says something at last has to say it.
    static let grace = Duration.seconds(1)
    /// How long the work of a transaction may take when its callers' time is over as it begins.
    static let workMax = Duration.seconds(5)
}
