import Foundation
import GRDB
import Penstock
import PenstockCore
import PenstockProcesses
import PenstockSQLite
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Workers on a file that somebody else holds for longer than their leases last.
@Suite(.timeLimit(.minutes(5))) struct StalledStoreTests {
    let folder = TemporaryFolder()
    let time = ManualTime()

    /// Somebody who knows nothing of Penstock, and may leave a transaction open.
    private func program(at path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.busyMode = .timeout(10)
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Lets time pass, once each worker that holds leases has asked for more time, or need not yet: on a loaded machine it
    /// would go on without workers that live.
    private func advance(by duration: Duration, lease: Duration, at path: String, _ program: DatabaseQueue) async throws
    {
        let folder = SharedFolder(existingBesideDatabaseAt: path)
        try await eventually {
            let boot = time.boot.microseconds
            let ends = try await program.writeWithoutTransaction { database in
                try Row.fetchAll(
                    database,
                    sql: """
                        SELECT lock_name, min(deadline) FROM penstock_lease
                        JOIN penstock_worker ON penstock_worker.id = worker_id GROUP BY worker_id
                        """
                ).map { (lockName: $0[0] as String, end: $0[1] as Int64) }
            }
            return ends.allSatisfy { worker in
                if worker.end - boot > (lease / 2).wholeMicroseconds { return true }
                let askedAt = WorkerLock.sight(of: worker.lockName, in: folder).askedAt
                return askedAt.map { boot - $0 < Duration.milliseconds(2_500).wholeMicroseconds } ?? false
            }
        }
        time.advance(by: duration)
        await giveWay()
    }

    /// Three processes with ten handlers each, and one that has room. Nobody gets a message that another has, however long
    /// the file is held, and whether calls still wait for it then or were told that it is busy.
    @Test(arguments: [Duration.seconds(30), .milliseconds(20)])
    func noMessageIsBegunTwice(busyMax: Duration) async throws {
        let path = folder.file("test.db")
        var queues: [Queue<Int>] = []
        var stores: [PenstockStore] = []
        for seed in 1...4 as ClosedRange<UInt64> {
            let random = SeededRandom(seed: seed)
            var options = SQLiteStore.Options(time: time, random: random)
            options.busyMax = busyMax
            let store = PenstockStore(
                try await SQLiteStore.open(path: path, options: options), options: .init(time: time, random: random))
            stores.append(store)
            queues.append(try await store.queue("q", of: Int.self))
        }
        try await queues[0].enqueue(contentsOf: Array(1...30))
        let (begun, gate) = (Tally(), Tally())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for queue in queues[..<3] {
                group.addTask {
                    try await Worker(queue, options: .init(concurrency: 10, max: 10)) { _ in
                        begun.add()
                        try await gate.wait(for: 1)
                    }.run()
                }
            }
            // On a loaded machine a first call may be told that it is busy, and is made again when time has passed.
            try await eventually {
                time.advance(by: .milliseconds(1))
                return begun.count == 30
            }
            let room = Task { [queues] in
                try await Worker(queues[3], options: .init(concurrency: 10)) { _ in begun.add() }.run()
            }
            let program = try program(at: path)
            try await program.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            let end = time.now + .seconds(40)
            while time.now < end {
                // So that calls are told that it is busy, where that is soon.
                if busyMax < .seconds(1), time.now.microseconds.isMultiple(of: 2_000_000) {
                    await #expect(throws: PenstockError.self) { try await queues[3].enqueue(0) }
                }
                try await advance(by: .milliseconds(100), lease: .seconds(30), at: path, program)
            }
            let before = time.now
            try await program.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
            // Until all leases are extended, and everybody has looked for lost work.
            try await eventually {
                try await advance(by: .milliseconds(100), lease: .seconds(30), at: path, program)
                let leases = try await program.read {
                    try Int.fetchOne(
                        $0, sql: "SELECT count(*) FROM penstock_lease WHERE deadline > ?",
                        arguments: [time.boot.microseconds])
                }
                return leases == 30 && time.now - before > .seconds(3) || begun.count > 30
            }
            #expect(begun.count == 30)
            gate.add()
            try await eventually {
                time.advance(by: .milliseconds(1))
                return try await queues[0].status().totals.done == 30
            }
            try await group.waitForAll()
            room.cancel()
            _ = try? await room.value
        }
        #expect(begun.count == 30)
        #expect(try await queues[0].status().totals.done == 30)
        #expect(try await queues[0].status().totals.reclaimed == 0)
        for store in stores { try await store.close() }
    }

    /// A program holds the file for more than three leases, and meanwhile handlers end. Their worker says that it needs
    /// more time, so what they said is kept, and is done when the file is let go.
    @Test func aVerdictIsKeptOverManyLeases() async throws {
        let path = folder.file("test.db")
        var queues: [Queue<Int>] = []
        for seed in 1...2 as ClosedRange<UInt64> {
            let random = SeededRandom(seed: seed)
            let store = PenstockStore(
                try await SQLiteStore.open(path: path, options: .init(time: time, random: random)),
                options: .init(time: time, random: random))
            queues.append(try await store.queue("q", of: Int.self))
        }
        try await queues[0].enqueue(contentsOf: [1, 2])
        let (begun, gate, ended) = (Tally(), Tally(), Tally())
        let worker = Task { [queue = queues[0]] in
            try await Worker(queue, options: .init(concurrency: 2, lease: .seconds(5), max: 2)) { _ in
                begun.add()
                try await gate.wait(for: 1)
                ended.add()
            }.run()
        }
        try await begun.wait(for: 2)
        let other = Task { [queue = queues[1]] in
            try await Worker(queue, options: .init(concurrency: 2)) { _ in begun.add() }.run()
        }
        let program = try program(at: path)
        try await program.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        gate.add()
        try await ended.wait(for: 2)
        for _ in 1...200 { try await advance(by: .milliseconds(100), lease: .seconds(5), at: path, program) }
        try await program.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        try await eventually {
            try await advance(by: .milliseconds(1), lease: .seconds(5), at: path, program)
            return try await queues[0].status().totals.done == 2
        }
        try await worker.value
        other.cancel()
        _ = try? await other.value
        #expect(begun.count == 2)
        #expect(try await queues[0].status().totals.reclaimed == 0)
        for queue in queues { try await queue.handle.storage.close() }
    }

    /// A program holds the file for longer than calls wait for it. Workers and readers go on when it lets go.
    @Test func workersAndReadersOutliveABusyFile() async throws {
        let path = folder.file("test.db")
        var options = SQLiteStore.Options()
        options.busyMax = .milliseconds(20)
        let store = PenstockStore(try await SQLiteStore.open(path: path, options: options))
        let (works, reads) = (
            try await store.queue("works", of: Int.self), try await store.queue("reads", of: Int.self)
        )
        try await works.enqueue(1)
        let (begun, failures) = (Tally(), Tally())
        let worker = Task {
            try await Worker(works, options: .init(max: 2)) { _ in begun.add() }.run()
        }
        try await begun.wait(for: 1)
        let program = try program(at: path)
        try await program.writeWithoutTransaction { database in
            try database.execute(sql: "BEGIN IMMEDIATE")
            for queue in ["works", "reads"] {
                try database.execute(
                    sql: "INSERT INTO penstock_messages (queue, payload) VALUES (?, '7')", arguments: [queue])
            }
        }
        let reader = Task { () throws -> Int? in
            for try await delivery in reads.deliveries() {
                try await delivery.done()
                return delivery.payload
            }
            return nil
        }
        // The calls of others are told that it is busy, again and again.
        while failures.count < 5 {
            do {
                try await works.enqueue(2)
            } catch let error as PenstockError where error.code == .busy {
                failures.add()
            }
        }
        try await program.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
        #expect(try await reader.value == 7)
        try await worker.value
        #expect(begun.count == 2)
        #expect(try await works.status().totals.done == 2)
        try await store.close()
    }
}
