import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// A store in an application's pool waits for other processes by itself: the application's own writes do not wait with it.
@Suite(.timeLimit(.minutes(5))) struct ApplicationPoolWaitTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("app.db") }

    private func open(_ busyMode: Database.BusyMode) async throws -> (pool: DatabasePool, store: SQLiteStore) {
        var configuration = Configuration()
        configuration.busyMode = busyMode
        let pool = try DatabasePool(path: path, configuration: configuration)
        try await pool.write { try $0.execute(sql: "CREATE TABLE note (text TEXT)") }
        let store = try await SQLiteStore.open(pool: pool)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        return (pool, store)
    }

    @Test func theApplicationWritesWhileAnotherProcessHasTheWriterLock() async throws {
        let (pool, store) = try await open(.timeout(5))
        let holder = try LockHolder(path)
        async let receipt: Receipt = store.put(.text("it"))
        try await holder.waitFor(1, .waiting)
        try await pool.write { try $0.execute(sql: "INSERT INTO note VALUES ('meanwhile')") }
        holder.leave()
        #expect(try await receipt.sequence.rawValue == 1)
        try await store.close()
    }

    /// The application is told that the file is taken after its own time-out, and not after the store's.
    @Test func theApplicationHasItsOwnTimeOut() async throws {
        let (pool, store) = try await open(.timeout(0.05))
        let program = try ForeignProgram(path)
        try await program.run("BEGIN IMMEDIATE")
        async let receipt: Receipt = store.put(.text("it"))
        let lock = try LockHolder.Probe(path)
        try await eventually { lock.isTaken }
        let error = await #expect(throws: DatabaseError.self) {
            try await pool.write { try $0.execute(sql: "INSERT INTO note VALUES ('meanwhile')") }
        }
        #expect(error?.resultCode == .SQLITE_BUSY)
        try await program.run("COMMIT")
        #expect(try await receipt.sequence.rawValue == 1)
        // The time-out is the application's again.
        let timeout = try await pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA busy_timeout") }
        #expect(timeout == 50)
        try await store.close()
    }
}
