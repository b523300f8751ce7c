import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// What one transaction rings for, whatever its jobs are and in whichever order they come.
@Suite struct TransactionRingTests {
    private let folder = TemporaryFolder()

    private func transact(_ policy: QueuePolicy = QueuePolicy(), _ body: (Transaction) throws -> Void) throws {
        let path = folder.file("queue.db")
        let file = try DatabaseQueue(path: path)
        _ = try file.inDatabase { try SchemaMigrator(path: path).migrate($0) }
        try file.write { database in
            let transaction = try Transaction(
                SQLiteConnection(database), path: path, time: SystemTime(), random: SeededRandom(seed: 1),
                policies: PolicyCache())
            try Configuring.perform(.create(policy, ifAbsent: false), of: .jobs, in: transaction)
            try body(transaction)
        }
    }

    private func enqueue(_ count: Int, in transaction: Transaction) throws {
        _ = try Enqueue.perform(
            (1...count).map { .text("\($0)") }, to: .jobs, durability: .processCrash, in: transaction)
    }

    private func makeAnotherQueue(in transaction: Transaction) throws {
        try Configuring.perform(.create(QueuePolicy(), ifAbsent: false), of: .mail, in: transaction)
    }

    @Test func aChangeOfAnotherQueueAndAnAppendLeaveTheMessagesToRingFor() throws {
        try transact { transaction in
            try enqueue(5, in: transaction)
            try makeAnotherQueue(in: transaction)
            _ = try Appending.perform(
                [.text("log")], to: .jobs, unless: nil, durability: .processCrash, in: transaction)
            #expect(transaction.rung[.jobs] == Ring(messages: 5, isForAll: true))
            try enqueue(2, in: transaction)
            #expect(transaction.rung[.jobs]?.messages == 7)
            #expect(transaction.rung[.mail]?.isForAll == true)
        }
    }

    @Test func aChangeOfAnotherQueueLeavesTheRoomToRingFor() throws {
        try transact(.bounded(1, .wait)) { transaction in
            try enqueue(1, in: transaction)
            // A producer is sent away, and what kept it out may be claimed by a later job.
            _ = try? Enqueue.perform([.text("2")], to: .jobs, durability: .processCrash, in: transaction)
            try makeAnotherQueue(in: transaction)
            _ = try Appending.perform(
                [.text("log")], to: .jobs, unless: nil, durability: .processCrash, in: transaction)
            #expect(transaction.rung[.jobs]?.makesRoom == true)
        }
    }
}
