import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// What one process commits wakes the waiters of another, without a look at the file.
@Suite(.timeLimit(.minutes(5))) struct DoorbellTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }
    private var ringsAlone: SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.hearsRingsAlone = true
        return options
    }

    @Test func wakesAllWhoWaitInAllProcesses() async throws {
        let stores = [
            try await SQLiteStore.openWithJobs(path, options: ringsAlone),
            try await SQLiteStore.open(path: path, options: ringsAlone),
            try await SQLiteStore.open(path: path, options: ringsAlone),
        ]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                let token = store.changes.token(for: .jobs)
                for _ in 1...3 {
                    group.addTask { try await store.changes.wait(for: .jobs, after: token) }
                }
            }
            try await stores[0].put(.text("it"))
            try await group.waitForAll()
        }
        for store in stores { try await store.close() }
    }

    /// Looks, and sees nothing.
    private struct Lookout: ChangePolling {
        let looked: AsyncStream<Void>.Continuation

        func look(forTheDead: Bool) -> ChangesSeen {
            looked.yield()
            return ChangesSeen()
        }

        func close() { looked.finish() }
    }

    /// A commit writes to the log, of which the kernel tells, and then it rings. With a pause that never ends a ring that is not heard at
    /// once is not heard at all.
    @Test(.timeLimit(.minutes(1))) func aRingRightBehindAWriteIsHeardAtOnce() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let side = try SharedFolder(besideDatabaseAt: path)
        let (doorbell, other) = (try Doorbell(side), try Doorbell(side))
        let wakeups = doorbell.wakeups
        let (looks, looked) = AsyncStream.makeStream(of: Void.self)
        let listener = ChangeListener(
            database: path, folder: side, doorbell: doorbell, hearingPauseMilliseconds: .max
        ) {
            Lookout(looked: looked)
        }
        let token = wakeups.token(for: .jobs)
        async let woken: Void = wakeups.waitForWork(in: .jobs, after: token)
        try await wakeups.waitForWaiters()
        listener.start()
        var look = looks.makeAsyncIterator()
        #expect(await look.next() != nil)
        let program = try DatabaseQueue(path: path)
        try await program.write { database in
            try database.execute(sql: "INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'x')")
        }
        // It has heard of that, and so it looks.
        #expect(await look.next() != nil)
        other.ring([(RingBucket.of(.jobs), Ring(messages: 1))])
        try await woken
        await listener.end()
        try program.close()
        try await store.close()
    }

    /// Takes the next message of `queue`, and sleeps until there is one: token, look, wait.
    private static func receive(_ queue: QueueName, _ store: SQLiteStore) async throws -> String {
        while true {
            let token = store.changes.token(for: queue)
            if let message = try await store.take(1, from: queue).first {
                _ = try await store.settle([Settlement(message.lease, .done)])
                return String(decoding: message.payload, as: UTF8.self)
            }
            try await store.changes.wait(for: queue, after: token)
        }
    }

    /// Each sends when it has heard from the other, and so each has to be woken each time. One ring lost, and both
    /// sleep for ever.
    @Test func noRingIsLostInAThousandRounds() async throws {
        let left = try await SQLiteStore.openWithJobs(path, options: ringsAlone)
        let right = try await SQLiteStore.open(path: path, options: ringsAlone)
        try await left.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        let rounds = 1000
        let answering = Task {
            for _ in 1...rounds {
                try await right.put(.text(try await Self.receive(.jobs, right)), to: .mail)
            }
        }
        for number in 1...rounds {
            try await left.put(.text("\(number)"))
            #expect(try await Self.receive(.mail, left) == "\(number)")
        }
        try await answering.value
        try await left.close()
        try await right.close()
    }

    @Test func roomInAFullQueueWakesProducersElsewhere() async throws {
        let producer = try await SQLiteStore.openWithJobs(path, .bounded(1, .wait), options: ringsAlone)
        let worker = try await SQLiteStore.open(path: path, options: ringsAlone)
        let done = Task {
            for number in 1...500 {
                while true {
                    let token = producer.changes.token(for: .jobs)
                    let receipts = try await producer.enqueue(
                        [.text("\(number)")], to: .jobs, durability: .processCrash)
                    if receipts.count == 1 { break }
                    try await producer.changes.wait(for: .jobs, after: token)
                }
            }
        }
        var taken = 0
        while taken < 500 {
            let token = worker.changes.token(for: .jobs)
            let messages = try await worker.take(5)
            taken += messages.count
            if messages.isEmpty { try await worker.changes.wait(for: .jobs, after: token) }
        }
        try await done.value
        try await producer.close()
        try await worker.close()
    }

    @Test func ringsForPlainEnqueuesWithinAnApplicationsTransaction() async throws {
        let pool = try GRDBPool(path)
        let store = try await SQLiteStore.open(pool: pool.value)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        let worker = try await SQLiteStore.open(path: path, options: ringsAlone)
        let token = worker.changes.token(for: .jobs)
        async let woken: Void = worker.changes.wait(for: .jobs, after: token)
        try await pool.value.write { _ = try store.enqueue([.text("it")], to: .jobs, in: $0) }
        try await woken
        #expect(try await worker.take().count == 1)
        try await worker.close()
        try await store.close()
    }

    /// Workers that wait in the store to which queues move learn that these are open.
    @Test func theEndOfAMoveWakesWhoWaitsAtItsTarget() async throws {
        let source = try await SQLiteStore.openWithJobs(path)
        try await source.put(.text("it"))
        let target = try await SQLiteStore.open(path: folder.file("target.db"), options: ringsAlone)
        let token = target.changes.token(for: .jobs)
        _ = try await source.copy(to: target, StoreCopy(source: "queue.db", target: "target.db")) { _ in }
        try await target.changes.waitForWork(in: .jobs, after: token)
        #expect(try await target.take().count == 1)
        try await source.close()
        try await target.close()
    }

    /// The listener ends with its store, and its descriptors with it.
    @Test func listenersLeaveNothingBehind() async throws {
        func descriptors() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter { file in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + file)
                return target?.hasPrefix(folder.path) == true
            }.count
        }
        for _ in 1...20 {
            let store = try await SQLiteStore.openWithJobs(path)
            _ = store.changes.token(for: .jobs)
            try await store.put(.text("it"))
            _ = try await store.take()
            try await store.close()
        }
        try await eventually { try descriptors() == 0 }
    }

    @Test func aRingNeedsNoRoom() throws {
        let side = try SharedFolder(besideDatabaseAt: path)
        _ = try Doorbell(side)
        #expect(try bytes(of: side.file(DoorbellBoard.layout.fileName)).count == DoorbellBoard.layout.byteCount)
    }
}
