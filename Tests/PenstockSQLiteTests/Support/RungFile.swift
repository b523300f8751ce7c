import GRDB
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A file with the queues `jobs` and `mail`, on which a test carries out one transaction after the other, and sees what each rings for.
final class RungFile {
    let time = ManualTime()
    let locks: any WorkerLocks
    private let folder = TemporaryFolder()
    private let path: String
    private let file: DatabaseQueue
    private let random = SeededRandom(seed: 1)
    private let worker: WorkerIdentity

    /// - Parameter policy: of `jobs`.
    init(_ policy: QueuePolicy = QueuePolicy()) throws {
        let path = folder.file("queue.db")
        self.path = path
        file = try DatabaseQueue(path: path)
        _ = try file.inDatabase { try SchemaMigrator(path: path).migrate($0) }
        locks = FolderLocks(folder: try SharedFolder(besideDatabaseAt: path))
        worker = WorkerIdentity(locks, name: "worker", time: time)
        try transact { transaction in
            try Configuring.perform(.create(policy, ifAbsent: false), of: .jobs, in: transaction)
            try Configuring.perform(.create(QueuePolicy(), ifAbsent: false), of: .mail, in: transaction)
        }
    }

    /// Carries out `body` in a transaction, as a store's writer does with a job.
    ///
    /// - Returns: what it rings for.
    @discardableResult
    func transact(_ body: (Transaction) throws -> Void) throws -> [QueueName: Ring] {
        try file.write { database in
            let transaction = try Transaction(
                SQLiteConnection(database), path: path, time: time, random: random, policies: PolicyCache())
            try body(transaction)
            try Cascade.writeDown(in: transaction)
            try transaction.writeDown()
            return transaction.rung
        }
    }

    @discardableResult
    func enqueue(_ messages: NewMessage..., to queue: QueueName = .jobs) throws -> [QueueName: Ring] {
        try transact { _ = try Enqueue.perform(messages, to: queue, durability: .processCrash, in: $0) }
    }

    /// Has a worker claim one message.
    ///
    /// - Returns: what it got, and what that rings for.
    @discardableResult
    func claim(from queue: QueueName = .jobs) throws -> (message: ClaimedMessage?, rung: [QueueName: Ring]) {
        var message: ClaimedMessage?
        let rung = try transact { message = try claim(1, from: queue, in: $0).messages.first }
        return (message, rung)
    }

    /// The claim of a worker, in a transaction that may have others.
    func claim(_ limit: Int, from queue: QueueName = .jobs, in transaction: Transaction) throws -> Claim {
        let request = ClaimRequest(queue: queue, limit: limit, lease: .seconds(30))
        return try Claiming.perform(request, limit: limit, worker: worker, in: transaction)
    }

    /// Has a worker claim one message, and say what became of it.
    func work(_ verdict: Verdict, from queue: QueueName = .jobs) throws -> [QueueName: Ring] {
        let message = try #require(try claim(from: queue).message)
        return try settle(Settlement(message.lease, verdict))
    }

    func settle(_ settlement: Settlement) throws -> [QueueName: Ring] {
        try transact { _ = try Settling.perform([settlement], in: $0) }
    }

    /// Moves message `sequence` by hand.
    func apply(_ command: LineCommand, to sequence: Int64) throws -> [QueueName: Ring] {
        try transact { _ = try Commanding.perform(command, on: [SequenceNumber(sequence)], in: $0) }
    }

    @discardableResult
    func configure(_ change: QueueChange, of queue: QueueName = .jobs) throws -> [QueueName: Ring] {
        try transact { try Configuring.perform(change, of: queue, in: $0) }
    }

    /// Has both queues share a limit on leased messages.
    func shareLimit(of count: Int) throws {
        try transact { try Configuring.setLimit(.both, to: count, in: $0) }
        for queue in [QueueName.jobs, .mail] { try configure(.set(QueuePolicy(sharedLimit: .both)), of: queue) }
    }
}

extension LimitName {
    /// The limit that both queues share.
    static let both = LimitName(stored: "both")
}

extension Ring {
    /// It tells producers that there is room.
    static var room: Ring {
        var ring = Ring()
        ring.makesRoom = true
        return ring
    }

    /// It tells all who wait for the queue, whatever they wait for.
    static var all: Ring { Ring(isForAll: true) }
}
