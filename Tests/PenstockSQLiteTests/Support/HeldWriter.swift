import Foundation
import GRDB
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Synchronization

@testable import PenstockSQL
@testable import PenstockSQLite

/// Holds a store's writer in a transaction that changes nothing, so that the calls of a test gather behind it.
final class HeldWriter: Sendable {
    private let store: SQLiteStore
    private let begun = DispatchSemaphore(value: 0)
    private let mayEnd = DispatchSemaphore(value: 0)
    private let holding: Task<Void, any Error>

    /// - Parameter inTransaction: whether the transaction is begun, so that no other process can write either.
    init(_ store: SQLiteStore, inTransaction: Bool = true) async throws {
        self.store = store
        holding = Task { [begun, mayEnd] in
            let hold: @Sendable () -> Void = {
                begun.signal()
                mayEnd.wait()
            }
            let check: @Sendable (Connection, PolicyCache, Timestamp) throws -> Void? = { _, _, _ in hold() }
            try await store.core.writer.perform(check: inTransaction ? nil : check) { _ in hold() }
        }
        try await SystemThread.run { [begun] in begun.wait() }
    }

    /// Returns once `count` calls wait.
    func waitForCalls(_ count: Int) async throws {
        try await eventually { store.core.writer.count >= count }
    }

    /// Lets the writer go on.
    func letGo() async throws {
        mayEnd.signal()
        try await holding.value
    }
}

/// Counts the transactions that a store's writer commits.
final class CommitCount: TransactionObserver, Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }

    init(_ store: SQLiteStore) {
        store.access.pool.add(transactionObserver: self, extent: .databaseLifetime)
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { count.withLock { $0 += 1 } }
    func databaseDidRollback(_ db: Database) {}
}
