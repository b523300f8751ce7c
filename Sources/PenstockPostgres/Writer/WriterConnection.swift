import PenstockSQL

/// The connection of a process's writer, made at need, and made again when it is lost.
final class WriterConnection {
    /// The connection; `nil`: there is none.
    private(set) var session: WriterSession?
    let sessions: Sessions
    private var backoff = Backoff()
    /// What lost connections of this process have in `penstock_writer`.
    private var lost = LostRows()
    private var lostAt: ContinuousClock.Instant?
    /// Called with each new connection.
    private let connects: () -> Void

    init(_ sessions: Sessions, connects: @escaping () -> Void) {
        self.sessions = sessions
        self.connects = connects
    }

    func connected(until deadline: ContinuousClock.Instant) throws -> WriterSession {
        leaveSuperseded()
        if let session { return session }
        let start = ContinuousClock.now
        defer { sessions.stalls.note(since: start) }
        let server = try sessions.connect()
        server.deadline = max(deadline, .now + WriterSession.workMax) + WriterSession.grace
        try ServerLife.begin(server)
        try CommitMark.removeOld(server)
        connects()
        let session = try WriterSession(server)
        // Where verdicts are said no more, the last ones go with those who come.
        try session.connection.leftVerdicts.look(at: LeftVerdicts.keysMax, session.connection)
        self.session = session
        if let lostAt { sessions.stalls.note(since: lostAt) }
        lostAt = nil
        return session
    }

    /// Lets go of a server when another connection of this process has found the one that was promoted since.
    func leaveSuperseded() {
        if session?.server.isSuperseded == true { disconnect() }
    }

    func disconnect() {
        if let session {
            sessions.abandon(session.server)
            lost.add(session.rows)
        }
        session = nil
        lostAt = lostAt ?? .now
    }

    /// Takes what a session says of itself after a transaction.
    func keep(_ session: WriterSession) {
        self.session = session
        backoff.reset()
    }

    /// Waits a while after a failure; false when the deadline has come.
    func pause(until deadline: ContinuousClock.Instant) -> Bool {
        guard ContinuousClock.now < deadline else { return false }
        backoff.wait(until: deadline)
        return true
    }

    /// Asks the database something when all transactions that were begun before are over; `nil`: nobody can be asked before the deadline.
    func ask<T>(until deadline: ContinuousClock.Instant, _ body: (PostgresConnection) throws -> T) -> T? {
        repeat {
            do {
                let session = try connected(until: deadline)
                // An old connection's transaction may still be about to commit; it holds the lock until it has.
                try session.begin(until: deadline, sessions)
                let answer = try body(session.connection)
                try session.server.run("COMMIT")
                return answer
            } catch {
                disconnect()
            }
        } while pause(until: deadline)
        return nil
    }

    /// Removes the rows of this process, if the server can still be reached.
    func end() {
        if let session, !session.server.isLost {
            session.server.deadline = .now + .seconds(2)
            // There may be time for some of them alone.
            for row in session.rows + lost.rows { try? CommitMark.remove(row, session.connection) }
        }
        session = nil
    }
}
