import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQLite

/// Writers of several processes share transactions.
@Suite(.timeLimit(.minutes(2))) struct HandoverTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("queue.db") }

    private let options = Holder.options

    init() throws {
        folder = try TemporaryFolder()
    }

    private func lastBatch() throws -> Int64? {
        try DatabaseQueue(path: path).read { try Int64.fetchOne($0, sql: "SELECT last_batch FROM penstock_state") }
    }

    @Test func whoHasTheTurnCarriesOutWhatOthersHavePosted() async throws {
        let stores = [
            try await SQLiteStore.openWithJobs(path, options: options),
            try await SQLiteStore.open(path: path, options: options),
            try await SQLiteStore.open(path: path, options: options),
        ]
        let commits = stores.map(CommitCount.init)
        let holder = try Holder(path)
        async let first = stores[0].put(.text("0"), durability: .powerLoss)
        async let second = stores[1].put(.text("1"))
        async let third = stores[2].put(.text("2"), durability: .powerLoss)
        await holder.waitForPosts(3)
        holder.leave()
        let receipts = try await [first, second, third]
        #expect(Set(receipts.map(\.sequence.rawValue)) == [1, 2, 3])
        #expect(receipts.map(\.durability) == [.powerLoss, .processCrash, .powerLoss])
        #expect(receipts.allSatisfy { $0.state == .ready })
        #expect(commits.reduce(0) { $0 + $1.value } == 1, "One transaction for all of them.")
        #expect(try lastBatch() != 0)
        for (store, receipt) in zip(stores, receipts) {
            let texts = try await store.messages(MessageQuery(sequences: [receipt.sequence], withPayload: true))
            #expect(texts.first?.payload == Array("\(receipts.firstIndex(of: receipt) ?? 9)".utf8))
        }
        #expect(try await stores[0].depths().ready == 3)
        for store in stores { try await store.close() }
    }

    /// Its own process asks again, and has its own answer.
    @Test func aRefusalIsGivenByOnesOwnProcess() async throws {
        let left = try await SQLiteStore.openWithJobs(path, .bounded(1, .fail), options: options)
        let right = try await SQLiteStore.open(path: path, options: options)
        let holder = try Holder(path)
        let calls = [left, right].map { store in Task { try await store.put(.text("it")) } }
        await holder.waitForPosts(2)
        holder.leave()
        var codes: [PenstockError.Code?] = []
        for call in calls {
            do {
                _ = try await call.value
                codes.append(nil)
            } catch let error as PenstockError {
                codes.append(error.code)
            }
        }
        #expect(Set(codes) == [nil, .queueFull])
        #expect(try await left.texts().count == 1)
        try await left.close()
        try await right.close()
    }

    /// What a guest breaks is the guest's.
    @Test func aCallIsNotSpoiledByAnotherProcess() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: options)
        let other = try await SQLiteStore.open(path: path, options: options)
        let database = try DatabaseQueue(path: path)
        try await database.write { database in
            try database.execute(
                sql: """
                    CREATE TRIGGER broken BEFORE INSERT ON penstock_log WHEN NEW.payload = CAST('bad' AS BLOB)
                    BEGIN SELECT RAISE(ABORT, 'broken'); END
                    """)
        }
        let holder = try Holder(path)
        let bad = Task { try await other.put(.text("bad")) }
        await holder.waitForPosts()
        let good = Task { try await store.put(.text("good", key: "not handed over")) }
        while store.writer.waitingCount == 0 { await Task.yield() }
        // The kernel has the good one in its line, and nobody rings for the bad one.
        holder.die()
        #expect(try await good.value.state == .ready)
        await #expect(throws: PenstockError.self) { try await bad.value }
        #expect(try await store.texts() == ["good"])
        try database.close()
        try await store.close()
        try await other.close()
    }

    /// A call that waits for room is told that there was none, whoever has looked.
    @Test func aCallThatWaitsForRoomIsToldThatThereIsNone() async throws {
        let store = try await SQLiteStore.openWithJobs(path, .bounded(1, .wait), options: options)
        let other = try await SQLiteStore.open(path: path, options: options)
        try await store.put(.text("it"))
        let holder = try Holder(path)
        let calls = [store, other].map { store in
            Task { try await store.enqueue([.text("more")], to: .jobs, durability: .processCrash) }
        }
        await holder.waitForPosts(2)
        holder.leave()
        for call in calls { #expect(try await call.value == []) }
        try await store.close()
        try await other.close()
    }

    @Test func whatIsLargeWaitsForItsTurn() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: options)
        let holder = try Holder(path)
        let large = Task { try await store.put(NewMessage(payload: Array(repeating: 1, count: 100_000))) }
        let other = try await SQLiteStore.open(path: path, options: options)
        let small = Task { try await other.put(.text("small")) }
        await holder.waitForPosts(1)
        holder.leave()
        _ = try await (large.value, small.value)
        #expect(try await store.depths().ready == 2)
        try await store.close()
        try await other.close()
    }

    // MARK: A wait that is too long

    @Test func whoWaitsTooLongTakesItBack() async throws {
        var options = options
        options.busyMax = .milliseconds(300)
        let store = try await SQLiteStore.openWithJobs(path, options: options)
        let holder = try Holder(path)
        await expect(.busy) { try await store.put(.text("it")) }
        #expect(holder.take(batch: 1).isEmpty, "It was told that it has failed, and it has.")
        holder.leave()
        #expect(try await store.texts() == [])
        try await store.put(.text("next"))
        #expect(try await store.texts() == ["next"])
        try await store.close()
    }

    @Test func whatWasTakenHasNotFailed() async throws {
        var options = options
        // Long enough for this test to take what the store has posted.
        options.busyMax = .seconds(5)
        let store = try await SQLiteStore.openWithJobs(path, options: options)
        let holder = try Holder(path)
        let call = Task { try await store.put(.text("it")) }
        await holder.waitForPosts()
        let guests = holder.take(batch: 1)
        // A call that comes later has no one who could carry it out, and comes to its end.
        await expect(.busy) {
            try await SQLiteStore.open(path: path, options: options).put(.text("other", key: "not handed over"))
        }
        try holder.commit(guests, batch: 1)
        holder.handover.answer(holder.handover.commit(guests))
        #expect(try await call.value.sequence.rawValue == 1)
        holder.leave()
        #expect(try await store.texts() == ["it"])
        try await store.close()
    }

    /// Whoever was stopped with a call in its hands may go on with it much later. Its caller is not kept that long, and
    /// its answer is nobody else's.
    @Test func whoIsStoppedIsNotWaitedForForEver() async throws {
        var options = options
        options.busyMax = .seconds(2)
        let store = try await SQLiteStore.openWithJobs(path, options: options)
        let holder = try Holder(path)
        let call = Task { try await store.put(.text("it")) }
        await holder.waitForPosts()
        let guests = holder.take(batch: 1)
        await expect(.busy) { try await store.put(.text("behind it", key: "k")) }
        await expect(.storage) { try await call.value }
        let next = Task { try await store.put(.text("next")) }
        try holder.commit(guests, batch: 1)
        #expect(holder.handover.commit(guests).isEmpty)
        holder.leave()
        #expect(try await next.value.sequence.rawValue == 2)
        #expect(try await store.texts() == ["it", "next"])
        try await store.close()
    }

    /// Where others take nothing, as those whose transactions are their own, the kernel's line is the fairest.
    @Test func whatNobodyTakesWaitsForItsTurn() async throws {
        var options = options
        options.postMax = .milliseconds(1)
        let store = try await SQLiteStore.openWithJobs(path, options: options)
        let holder = try Holder(path)
        let call = Task { try await store.put(.text("it")) }
        while holder.count(.posted) > 0 || store.writer.waitingCount == 0 { await Task.yield() }
        holder.leave()
        #expect(try await call.value.sequence.rawValue == 1)
        try await store.close()
    }
}
