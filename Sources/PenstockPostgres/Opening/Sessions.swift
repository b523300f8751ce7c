import Foundation
import PenstockCore
import PenstockSQL
import Synchronization

/// Makes the connections of one store. Each holds the lock by which other processes see that this one lives, so that the loss of
/// one connection is no death. Only one that waits for standbys does not: the server does not look meanwhile whether its process is there
/// still, and would hold the lock of a dead one for as long as no standby is back.
final class Sessions: Sendable {
    let address: ServerAddress
    /// Told the time by each connection.
    let clock = ServerClock()
    /// The lock that each connection holds.
    let locks = SessionLocks()
    /// How long its writers have waited for the server's disk, and for each other.
    let timings = WriteTimings()
    /// How long it has waited for the server.
    let stalls = Stalls()
    let busyMax: Duration
    /// The server's processes that have not answered in time. Those that go on have this process's lock, wait for a standby or hold
    /// what others want, and have nobody to tell.
    private let abandoned = Mutex<[Int32]>([])

    init(_ address: ServerAddress, busyMax: Duration) {
        self.address = address
        self.busyMax = busyMax
    }

    /// Connects, and looks for the store's tables.
    ///
    /// - Parameters:
    ///   - silenceMax: how long the server may take for an answer; `nil`: as long as calls may.
    ///   - waitsForStandbys: whether it may come to wait for them.
    /// - Throws: ``ServerError``.
    func connect(silenceMax: Duration? = nil, waitsForStandbys: Bool = false) throws -> ServerConnection {
        let server: ServerConnection
        do {
            server = try Self.connect(to: address, busyMax: busyMax, silenceMax: silenceMax)
        } catch let refusal as ServerError {
            var refusal = refusal
            refusal.isOfOpenStore = true
            throw refusal
        }
        server.deadline = .now + Self.connectMax
        defer { server.deadline = nil }
        let lockClass = waitsForStandbys ? Self.waiterLockClass : Self.lockClass
        let locked = try server.run(
            "SELECT pg_advisory_lock_shared(\(lockClass), \(locks.id)), \(ServerConnection.tableNumber)")
        server.table = Int64(locked.text(0, 1))
        if let table = server.table { address.known.note(table: table) }
        try endAbandoned(server)
        try clock.read(server)
        return server
    }

    /// Connects to a database that may not have the tables yet.
    static func connect(
        to address: ServerAddress, busyMax: Duration, silenceMax: Duration? = nil
    ) throws -> ServerConnection {
        // A server that waits for another program's lock says so first.
        let server = try ServerConnection(address, silenceMax: silenceMax ?? busyMax + .seconds(2))
        // Before anything is set: an old one knows not all of these settings.
        try require(
            server.serverVersion >= oldestServer,
            "The server of \(address.description) is PostgreSQL \(server.serverVersion / 10_000), and Penstock needs 13 or newer."
        )
        server.deadline = .now + connectMax
        defer { server.deadline = nil }
        // Sessions are kept for as long as their process lives, and say so of it, whatever is usual at the server.
        let unbounded = [("idle_session_timeout", 140_000), ("transaction_timeout", 170_000)]
            .filter { server.serverVersion >= $0.1 }.map { "; SET \($0.0) = 0" }.joined()
        // Answers that are lost are asked for again; what is written waits for the disk only where that is asked for. A process
        // that is stopped or whose host is gone must not hold what it holds for as long as the server's settings let it: of a host that
        // vanished the server knows within three seconds, and others have its messages within five.
        try server.run(
            """
            \(settings(address).map { "SET \($0.name) = \($0.value)" }.joined(separator: "; ")); SET synchronous_commit = off;
            SET lock_timeout = \(max(1, busyMax.wholeMicroseconds / 1000)); SET statement_timeout = 0;
            SET idle_in_transaction_session_timeout = '10s'; SET jit = off; SET client_min_messages = warning;
            SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = off;
            SET standard_conforming_strings = on; SET bytea_output = hex; SET quote_all_identifiers = off; SET tcp_keepalives_idle = 1;
            SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 2; SET tcp_user_timeout = 3000\(unbounded)
            """)
        // A store that is only read may be at a standby, which tells none.
        if address.mustBeWritable { server.readTimeline() }
        if let timeline = server.timeline, !address.known.admits(timeline, system: { server.system }) {
            address.avoid(server.connection)
            throw ServerError(
                message:
                    "the server is of an earlier timeline than one that was seen: it was the primary before; or it was restored, "
                    + "and this process is to be started anew",
                isLost: true)
        }
        // Not on every system, and so by itself.
        if server.serverVersion >= 140_000 { _ = try? server.run("SET client_connection_check_interval = '500ms'") }
        return server
    }

    /// What the store's statements were written for, and statements of other programs were not.
    ///
    /// The operations search in indexes, one table after the other. A planner whose statistics are of a time when the tables were
    /// empty, or a hundred times as long, would read all of the log for one claim. Rows that the server hides from a role would be missing
    /// without a word, so it says that it would hide some.
    static func settings(_ address: ServerAddress) -> [(name: String, value: String)] {
        [("search_path", address.searchPath), ("row_security", "off")]
            + ["seqscan", "bitmapscan", "hashjoin", "mergejoin", "material"].map { ("enable_\($0)", "off") }
    }

    /// The oldest server whose SQL has all that is used.
    private static let oldestServer = 130_000
    /// How long a server may take to make a connection ready.
    static let connectMax = Duration.seconds(5)

    /// Ends the session of `server` at the next connection, if it has not answered.
    func abandon(_ server: ServerConnection) {
        if server.isAbandoned { abandoned.withLock { $0.append(server.processID) } }
    }

    /// Only sessions of this process have its number in a lock.
    private func endAbandoned(_ server: ServerConnection) throws {
        let ids = abandoned.withLock { abandoned in
            defer { abandoned = [] }
            return abandoned
        }
        if ids.isEmpty { return }
        try server.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_locks
            WHERE locktype = 'advisory' AND objsubid = 2 AND CAST(objid AS BIGINT) = \(locks.id)
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND pid <> pg_backend_pid() AND pid = ANY ('{\(ids.map(String.init).joined(separator: ","))}')
            """)
    }

    /// The first of the two numbers of a worker's lock: the table of the store, so that stores of one database do not meet.
    static let lockClass = lockClass(of: "penstock_state")
    /// The same for sessions that wait for standbys, which say of no process that it lives.
    private static let waiterLockClass = lockClass(of: "penstock_writer")
    /// The same for the session of each machine that hears the server's notifications.
    static let listenerLockClass = lockClass(of: "penstock_incarnation")

    /// A row when a session of another machine hears the server's notifications.
    static let otherListener = """
        SELECT 1 FROM pg_locks WHERE \(isHeld(listenerLockClass)) AND objid = 0 AND pid <> pg_backend_pid() LIMIT 1
        """

    private static func lockClass(of table: String) -> String {
        "('\(table)'::regclass::oid::bigint - 2147483648)::int"
    }

    /// Whether a row of `pg_locks`, which shows numbers without a sign, is a lock of two numbers that a session of this database has.
    ///
    /// - Parameter lockClass: the first number, in SQL.
    static func isHeld(_ lockClass: String) -> String {
        """
        locktype = 'advisory' AND objsubid = 2 AND granted
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND CAST(classid AS BIGINT) = (CAST(\(lockClass) AS BIGINT) & 4294967295)
        """
    }
}
