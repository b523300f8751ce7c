import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQLite

/// Whoever dies with calls of other processes in its hands, each is carried out once and has its answer.
@Suite(.timeLimit(.minutes(2))) struct HandoverDeathTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("queue.db") }

    private let options = Holder.options

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func nobodyCarriesOutWhatADeadProcessHasPosted() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: options)
        let holder = try Holder(path)
        do {
            let dead = try #require(
                Handover(
                    SharedFolder(besideDatabaseAt: path), turnstile: WriterLock(SharedFolder(besideDatabaseAt: path)),
                    flusher: Flusher(path, flush: Flusher.systemFlush), postMax: .seconds(60)))
            let parcel = try #require(Parcel([.text("of the dead")], to: .jobs, durability: .powerLoss))
            #expect(dead.post([parcel]) == 1)
        }
        await holder.waitForPosts()
        holder.leave()
        try await store.put(.text("it"))
        #expect(try await store.texts() == ["it"])
        try await store.close()
    }

    /// Where the one dies who has the turn. Whatever the point, the call is carried out once and has its receipt.
    enum Death: CaseIterable {
        case beforeTheCommit, afterTheCommit, beforeTheFlush
    }

    @Test(arguments: Death.allCases) func whoWaitedForADeadProcessGoesOn(death: Death) async throws {
        let disk = TestDisk(path)
        var diskOptions = disk.options
        diskOptions.postMax = .seconds(60)
        let store = try await SQLiteStore.openWithJobs(path, options: diskOptions)
        let holder = try Holder(path)
        let call = Task { try await store.put(.text("it"), durability: .powerLoss) }
        await holder.waitForPosts()
        let flushCount = disk.flushCount
        let guests = holder.take(batch: 7)
        #expect(guests.count == 1)
        if death == .beforeTheCommit { holder.promise(guests) } else { try holder.commit(guests, batch: 7) }
        let committed = death == .beforeTheFlush ? holder.handover.commit(guests) : []
        holder.die()
        #expect(try await call.value.sequence.rawValue == 1)
        #expect(disk.flushCount > flushCount, "Nobody else has flushed it.")
        #expect(try await store.texts() == ["it"])
        #expect(try disk.textsAfterPowerCut() == ["it"])

        // Whoever was not dead but slow says nothing of what was posted since.
        holder.enter()
        let next = Task { try await store.put(.text("next")) }
        await holder.waitForPosts()
        let others = holder.take(batch: 8)
        holder.handover.giveBack(guests)
        #expect(holder.handover.commit(guests).isEmpty)
        try holder.commit(others, batch: 8)
        let unflushed = holder.handover.commit(others)
        holder.handover.answer(committed)
        #expect(holder.count(.committed) == 1, "It is not on the disk yet.")
        holder.handover.answer(unflushed)
        holder.leave()
        #expect(try await next.value.sequence.rawValue == 2)
        #expect(try await store.texts() == ["it", "next"])
        try await store.close()
    }

    /// Nobody may take the name of a transaction away before it is known what became of it.
    @Test func anotherOneWithTheTurnFindsOutWhatBecameOfThem() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: options)
        let other = try await SQLiteStore.open(path: path, options: options)
        let holder = try Holder(path)
        let call = Task { try await store.put(.text("it"), durability: .powerLoss) }
        await holder.waitForPosts()
        let guests = holder.take(batch: 7)
        try holder.commit(guests, batch: 7)
        holder.die()
        for number in 1...20 { try await other.put(.text("\(number)"), durability: .powerLoss) }
        #expect(try await call.value.sequence.rawValue == 1)
        #expect(try await store.texts() == ["it"] + (1...20).map(String.init))
        try await store.close()
        try await other.close()
    }

    /// What the disk has refused is not called durable, whoever has committed it.
    @Test func aBrokenDiskIsFoundOutByWhoWaits() async throws {
        let disk = TestDisk(path)
        var diskOptions = disk.options
        diskOptions.postMax = .seconds(60)
        let stores = [
            try await SQLiteStore.openWithJobs(path, options: diskOptions),
            try await SQLiteStore.open(path: path, options: diskOptions),
        ]
        let holder = try Holder(path)
        let calls = stores.map { store in Task { try await store.put(.text("it"), durability: .powerLoss) } }
        await holder.waitForPosts(2)
        disk.breakDown()
        holder.leave()
        for call in calls { await expect(.storage) { try await call.value } }
        for store in stores { try? await store.close() }
    }
}
