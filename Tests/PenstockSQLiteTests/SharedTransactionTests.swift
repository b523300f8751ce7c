import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// Writers of several processes share transactions.
@Suite(.timeLimit(.minutes(5))) struct SharedTransactionTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    private func answerCount() throws -> Int? {
        try DatabaseQueue(path: path).read { try Int.fetchOne($0, sql: "SELECT count(*) FROM penstock_answer") }
    }

    @Test func theProcessWithTheLockCarriesOutWhatOthersHavePosted() async throws {
        let stores = [
            try await SQLiteStore.openWithJobs(path), try await SQLiteStore.open(path: path),
            try await SQLiteStore.open(path: path),
        ]
        let commits = stores.map(CommitCount.init)
        let holder = try LockHolder(path)
        async let first = stores[0].put(.text("0"), durability: .powerLoss)
        async let second = stores[1].put(.text("1"))
        async let third = stores[2].put(.text("2"), durability: .powerLoss)
        try await holder.waitFor(3)
        holder.leave()
        let receipts = try await [first, second, third]
        #expect(Set(receipts.map(\.sequence.rawValue)) == [1, 2, 3])
        #expect(receipts.map(\.durability) == [.powerLoss, .processCrash, .powerLoss])
        #expect(receipts.allSatisfy { $0.state == .ready })
        #expect(commits.reduce(0) { $0 + $1.value } == 1, "One transaction for all of them.")
        #expect(try answerCount() == 2)
        for (store, receipt) in zip(stores, receipts) {
            let texts = try await store.messages(MessageQuery(sequences: [receipt.sequence], withPayload: true))
            #expect(texts.first?.payload == Array("\(receipts.firstIndex(of: receipt) ?? 9)".utf8))
        }
        #expect(try await stores[0].depths().ready == 3)
        #expect(holder.slots.areClean)
        for store in stores { try await store.close() }
    }

    /// What holds a message back is known to the process that carries its call out, and the receipt says so.
    @Test func whatIsToWaitIsCarriedOutAsItsOwnProcessWould() async throws {
        let stores = [
            try await SQLiteStore.openWithJobs(path, QueuePolicy(groups: .fifo(onDead: .next))),
            try await SQLiteStore.open(path: path), try await SQLiteStore.open(path: path),
        ]
        let commits = stores.map(CommitCount.init)
        let holder = try LockHolder(path)
        let messages = [
            NewMessage.text("0", group: "g"), .text("1", group: "g", expiry: .after(.seconds(60))),
            .text("2", due: .after(.seconds(60)), group: "g"),
        ]
        async let first = stores[0].put(messages[0])
        async let second = stores[1].put(messages[1])
        async let third = stores[2].put(messages[2])
        try await holder.waitFor(3)
        holder.leave()
        let receipts = try await [first, second, third]
        #expect(commits.reduce(0) { $0 + $1.value } == 1, "One transaction for all of them.")
        for (receipt, message) in zip(receipts, messages) {
            let record = try #require(try await stores[0].messages(MessageQuery(sequences: [receipt.sequence])).first)
            #expect(record.state == receipt.state)
            #expect(record.group == "g")
            #expect((record.expiresAt == nil) == (message.expiry == nil))
            #expect((record.due == nil) == (message.due == .now))
        }
        #expect(Set(receipts.map(\.state)) == [.ready, .blocked, .scheduled])
        for store in stores { try await store.close() }
    }

    /// Its own process asks again, and has its own answer.
    @Test func aRefusalIsGivenByTheOwnProcess() async throws {
        let left = try await SQLiteStore.openWithJobs(path, .bounded(1, .fail))
        let right = try await SQLiteStore.open(path: path)
        let holder = try LockHolder(path)
        let calls = [left, right].map { store in Task { try await store.put(.text("it")) } }
        try await holder.waitFor(2)
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

    /// The process with the lock carries out nothing for others, either, in a store that is left.
    @Test(arguments: ["draining", "copying", "moved"])
    func whatIsPostedToAStoreThatIsLeftIsRefused(phase: String) async throws {
        let stores = [try await SQLiteStore.openWithJobs(path), try await SQLiteStore.open(path: path)]
        let database = try DatabaseQueue(path: path)
        try await database.write { try $0.execute(sql: "UPDATE penstock_state SET moving = '\(phase)'") }
        let holder = try LockHolder(path)
        let calls = stores.map { store in Task { try await store.put(.text("it")) } }
        try await holder.waitFor(2)
        holder.leave()
        for call in calls { await expect(.storeMoved) { try await call.value } }
        #expect(try await stores[0].texts().isEmpty)
        #expect(try await stores[0].depths().ready == 0)
        try database.close()
        for store in stores { try await store.close() }
    }

    /// Otherwise it would be refused again by each process that has the lock, and told at its deadline that it could not have it.
    @Test func whatWasRefusedIsNotHandedOverAgain() async throws {
        let store = try await SQLiteStore.openWithJobs(path, .bounded(1, .fail))
        try await store.put(.text("before"))
        let holder = try LockHolder(path)
        let call = Task { try await store.put(.text("it")) }
        try await holder.waitFor()
        let requests = holder.take()
        try holder.commit(requests, refusesAll: true)
        holder.finish(requests)
        try await eventually { holder.count(.waiting) + holder.count(.posted) == 1 }
        #expect(holder.count(.waiting) == 1, "It waits for the lock, to have its answer from its own process.")
        holder.leave()
        await expect(.queueFull) { try await call.value }
        #expect(try await store.texts() == ["before"])
        try await store.close()
    }

    /// What another process's call breaks is that call's.
    @Test func aCallIsNotSpoiledByAnotherProcess() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let other = try await SQLiteStore.open(path: path)
        let database = try DatabaseQueue(path: path)
        try await database.write { database in
            try database.execute(
                sql: """
                    CREATE TRIGGER broken BEFORE INSERT ON penstock_log WHEN NEW.payload = CAST('bad' AS BLOB)
                    BEGIN SELECT RAISE(ABORT, 'broken'); END
                    """)
        }
        let holder = try LockHolder(path)
        let bad = Task { try await other.put(.text("bad")) }
        try await holder.waitFor(1, .posted)
        let good = Task { try await store.put(.text("good", key: "not handed over")) }
        try await holder.waitFor(1, .waiting)
        holder.leave()
        #expect(try await good.value.state == .ready)
        await #expect(throws: PenstockError.self) { try await bad.value }
        #expect(try await store.texts() == ["good"])
        try database.close()
        try await store.close()
        try await other.close()
    }

    /// A call that waits for room is told that there was none, whichever process has looked.
    @Test func aCallThatWaitsForRoomIsToldThatThereIsNone() async throws {
        let store = try await SQLiteStore.openWithJobs(path, .bounded(1, .wait))
        let other = try await SQLiteStore.open(path: path)
        try await store.put(.text("it"))
        let holder = try LockHolder(path)
        let calls = [store, other].map { store in
            Task { try await store.enqueue([.text("more")], to: .jobs, durability: .processCrash) }
        }
        try await holder.waitFor(2)
        holder.leave()
        for call in calls { #expect(try await call.value == []) }
        try await store.close()
        try await other.close()
    }

    @Test func whatIsLargeWaitsForTheLock() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let holder = try LockHolder(path)
        let large = Task { try await store.put(NewMessage(payload: Array(repeating: 1, count: 100_000))) }
        let other = try await SQLiteStore.open(path: path)
        let small = Task { try await other.put(.text("small")) }
        try await holder.waitFor(1, .posted)
        try await holder.waitFor(1, .waiting)
        holder.leave()
        _ = try await (large.value, small.value)
        #expect(try await store.depths().ready == 2)
        try await store.close()
        try await other.close()
    }

    // MARK: A wait that is too long

    private func patience(_ busyMax: Duration) -> SQLiteStore.Options {
        var options = SQLiteStore.Options()
        options.busyMax = busyMax
        return options
    }

    @Test func aCallThatWaitsTooLongIsTakenBack() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: patience(.milliseconds(300)))
        let holder = try LockHolder(path)
        await expect(.busy) { try await store.put(.text("it")) }
        #expect(holder.take().isEmpty, "It was told that it has failed, and it has.")
        #expect(holder.slots.areClean)
        holder.leave()
        #expect(try await store.texts() == [])
        try await store.put(.text("next"))
        #expect(try await store.texts() == ["next"])
        try await store.close()
    }

    @Test func whatWasTakenHasNotFailed() async throws {
        // Long enough for this test to take what the store has posted, and to carry it out, on a machine that is busy.
        let store = try await SQLiteStore.openWithJobs(path, options: patience(.seconds(60)))
        let holder = try LockHolder(path)
        let call = Task { try await store.put(.text("it")) }
        try await holder.waitFor()
        let requests = holder.take()
        // A call that comes later has nobody who could carry it out, and comes to its end.
        await expect(.busy) {
            try await SQLiteStore.open(path: path, options: patience(.milliseconds(100)))
                .put(.text("other", key: "not handed over"))
        }
        try holder.commit(requests)
        holder.finish(requests)
        #expect(try await call.value.sequence.rawValue == 1)
        holder.leave()
        #expect(try await store.texts() == ["it"])
        try await store.close()
    }

    /// A process that was stopped with a call in its hands may go on with it much later. Its caller is not kept that long,
    /// and its answer is nobody else's.
    @Test func aStoppedProcessIsNotWaitedForForEver() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: patience(.seconds(10)))
        let holder = try LockHolder(path)
        let call = Task { try await store.put(.text("it")) }
        try await holder.waitFor()
        let requests = holder.take()
        await expect(.busy) { try await store.put(.text("behind it", key: "k")) }
        await expect(.outcomeUnknown) { try await call.value }
        #expect(holder.slots.areClean)
        let next = Task { try await store.put(.text("next")) }
        try await holder.waitFor(1, .posted)
        try holder.commit(requests)
        holder.finish(requests)
        #expect(holder.count(.done) == 0, "It is another request's word.")
        holder.leave()
        #expect(try await next.value.sequence.rawValue == 2)
        #expect(try await store.texts() == ["it", "next"])
        try await store.close()
    }

    /// Nobody but this process carries out the calls when no shared memory can be had.
    @Test func aStoreWithoutASlotTriesAgain() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let folder = try SharedFolder(besideDatabaseAt: path)
        let slots = try #require(WriterSlots(in: folder))
        let taken = (0..<WriterSlots.count).filter(slots.own)
        #expect(taken.count == WriterSlots.count)
        let holder = try LockHolder(path)
        let call = Task { try await store.put(.text("it")) }
        try await eventually { store.core.writer.count > 0 }
        holder.die()
        #expect(try await call.value.sequence.rawValue == 1)
        holder.enter()
        let impatient = try await SQLiteStore.open(path: path, options: patience(.milliseconds(50)))
        await expect(.busy) { try await impatient.put(.text("it")) }
        holder.die()
        try await store.close()
        try await impatient.close()
    }
}

extension WriterSlots {
    /// Whether no byte of a request is left.
    var areClean: Bool {
        (0..<Self.count).allSatisfy { slot in request(of: slot).allSatisfy { $0 == 0 } }
    }
}
