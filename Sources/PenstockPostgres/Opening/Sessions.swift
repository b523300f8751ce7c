import Foundation
import PenstockCore

/// Makes the connections of one store. Each holds the lock by which other processes see that this one lives, so that the loss of
/// one connection is no death.
final class Sessions: Sendable {
    let address: ServerAddress
    let clock: ServerClock
    let locks: SessionLocks
    private let busyMax: Duration

    init(_ address: ServerAddress, clock: ServerClock, locks: SessionLocks, busyMax: Duration) {
        self.address = address
        self.clock = clock
        self.locks = locks
        self.busyMax = busyMax
    }

    /// Connects, and looks for the store's tables.
    ///
    /// - Throws: ``ServerError``.
    func connect() throws -> ServerConnection {
        let server = try Self.connect(to: address, busyMax: busyMax)
        try server.run("SELECT pg_advisory_lock_shared(\(Self.lockClass), \(locks.id))")
        try clock.read(server)
        return server
    }

    /// Connects to a database that may not have the tables yet.
    static func connect(to address: ServerAddress, busyMax: Duration) throws -> ServerConnection {
        let server = try ServerConnection(address)
        // Answers that are lost are asked for again; what is written waits for the disk only where that is asked for.
        try server.run(
            """
            SET search_path = \(ServerConnection.quoted(name: address.schema)), pg_temp; SET synchronous_commit = off;
            SET lock_timeout = \(busyMax.wholeMicroseconds / 1000); SET statement_timeout = 0;
            SET idle_in_transaction_session_timeout = 0; SET jit = off; SET client_min_messages = warning;
            SET default_transaction_isolation = 'read committed'
            """)
        return server
    }

    /// The first of the two numbers of a worker's lock: the table of the store, so that stores of one database do not meet.
    static let lockClass = "('penstock_state'::regclass::oid::bigint - 2147483648)::int"
}
