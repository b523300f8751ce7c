import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// Whom a transaction rings for that also claims: nobody for what it has taken itself.
@Suite(.timeLimit(.minutes(5))) struct OwnClaimTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    /// Nobody else is woken for what a claim has taken in the transaction in which it came or became due.
    @Test func aClaimTakesWhatCameWithItOffTheBoard() async throws {
        let time = ManualTime()
        let store = try await SQLiteStore.openWithJobs(path, options: SQLiteStore.Options(time: time))
        let ear = try Ear(path)
        let bucket = RingBucket.of(.jobs)
        func announced() -> Int { ear.doorbell.board.take(.max, at: bucket) }
        let enqueue = StoreOperation.enqueue([.text("1"), .text("2")], to: .jobs, durability: .processCrash)
        func claim(_ limit: Int) -> StoreOperation {
            .claim(ClaimRequest(queue: .jobs, limit: limit, lease: .seconds(30)))
        }
        _ = try await store.perform([enqueue, claim(1)])
        #expect(announced() == 1)
        _ = try await store.perform([enqueue, claim(3)])
        #expect(announced() == 0)
        // What waited before was announced before, and what came now is announced now.
        try await store.put(.text("before"))
        #expect(announced() == 1)
        _ = try await store.perform([enqueue, claim(1)])
        #expect(announced() == 2)
        #expect(try await store.take(9).count == 2)

        try await store.put(.text("later", due: .after(.seconds(1))))
        #expect(announced() == 1, "Somebody has to know when it is due.")
        time.advance(by: .seconds(1))
        #expect(try await store.take(1).count == 1)
        #expect(announced() == 0)
        ear.watch.end()
        try await store.close()
    }

    /// A claim makes room and brings no work: workers sleep on, and producers do not.
    @Test func roomWakesNoWorker() async throws {
        let store = try await SQLiteStore.openWithJobs(path, .bounded(1, .wait))
        try await store.put(.text("it"))
        let ear = try Ear(path)
        let token = ear.wakeups.token(for: .jobs)
        #expect(try await store.take().count == 1)
        ear.watch.hear()
        try await ear.wakeups.waitForRoomOrWork(in: .jobs, after: token)
        #expect(ear.wakeups.callForWork(in: .jobs, after: token, room: 1) {} != nil)
        ear.watch.end()
        try await store.close()
    }

    /// What came and was claimed in one transaction leaves as much room as before, but for a producer that was sent away in
    /// between.
    @Test(arguments: [1, 2]) func whatComesAndGoesMakesRoomForWhomItSentAway(arrivals: Int) async throws {
        let store = try await SQLiteStore.openWithJobs(path, .bounded(1, .wait))
        let change = try await store.core.writer.perform { [worker = store.core.worker] transaction in
            for number in 1...arrivals {
                let receipts = try Enqueue.perform(
                    [.text("\(number)")], to: .jobs, durability: .processCrash, in: transaction)
                #expect(receipts.count == (number == 1 ? 1 : 0))
            }
            let request = ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30))
            #expect(try Claiming.perform(request, limit: 1, worker: worker, in: transaction).messages.count == 1)
            return transaction.rung[.jobs]?.change
        }
        #expect(change == (arrivals == 1 ? .log : .room))
        try await store.close()
    }
}
