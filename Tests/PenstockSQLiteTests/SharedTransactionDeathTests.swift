import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// Whichever process dies with calls of others in its hands, each call is carried out once and has its answer.
@Suite(.timeLimit(.minutes(5))) struct SharedTransactionDeathTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    @Test func nobodyCarriesOutWhatADeadProcessHasPosted() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let holder = try LockHolder(path)
        let call = try #require(PostedCall([.text("of the dead")], to: .jobs, durability: .powerLoss))
        let slot = try #require(WriterSlot(of: holder.slots))
        #expect(slot.begin { PostedCall.write([call], to: &$0) } == 1)
        // The kernel lets go of the lock on the slot, and nothing else happens.
        holder.slots.disown(slot.number)
        #expect(holder.count(.posted) == 1)
        holder.leave()
        try await store.put(.text("it"))
        #expect(try await store.texts() == ["it"])
        try await store.close()
    }

    /// Where the process dies that holds the lock. Whatever the point, the call is carried out once and has its receipt.
    enum Death: CaseIterable {
        case beforeTheCommit, afterTheCommit, afterTheLock
    }

    @Test(arguments: Death.allCases) func aCallOutlivesTheProcessThatHadIt(death: Death) async throws {
        let disk = TestDisk(path)
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        let holder = try LockHolder(path)
        let call = Task { try await store.put(.text("it"), durability: .powerLoss) }
        try await holder.waitFor()
        let flushCount = disk.flushCount
        let requests = holder.take()
        #expect(requests.count == 1)
        if death != .beforeTheCommit { try holder.commit(requests) }
        // A process that is stopped with the lock has told nobody, and the answer is found all the same.
        if death == .afterTheLock { _ = try await call.value }
        holder.die()
        #expect(try await call.value.sequence.rawValue == 1)
        #expect(disk.flushCount > flushCount, "No other process has flushed it.")
        #expect(try await store.texts() == ["it"])
        #expect(try disk.textsAfterPowerCut() == ["it"])

        // A process that was not dead but slow says nothing of what was posted since.
        holder.enter()
        let next = Task { try await store.put(.text("next")) }
        try await holder.waitFor()
        let others = holder.take()
        holder.slots.giveBack(requests)
        holder.finish(requests)
        #expect(holder.count(.taken) == 1)
        try holder.commit(others)
        holder.finish(others)
        holder.leave()
        #expect(try await next.value.sequence.rawValue == 2)
        #expect(try await store.texts() == ["it", "next"])
        try await store.close()
    }

    /// What came of the call went with the file, and that is what its caller is told.
    @Test func aFileThatIsCutSaysSoToThoseWhoseCallAnotherProcessHad() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        // It has nothing of the table with the answers in its memory yet.
        let store = try await SQLiteStore.open(path: path)
        let holder = try LockHolder(path)
        let call = Task { try await store.put(.text("it")) }
        try await holder.waitFor()
        #expect(truncate(path, 0) == 0)
        #expect(truncate(path + "-wal", 0) == 0)
        holder.leave()
        await expect(.corrupt) { try await call.value }
        try? await store.close()
    }

    /// What was written down for one request stays until its process has read it, whatever others do meanwhile.
    @Test func othersWriteWhileAnAnswerLies() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let other = try await SQLiteStore.open(path: path)
        let holder = try LockHolder(path)
        let call = Task { try await store.put(.text("it"), durability: .powerLoss) }
        try await holder.waitFor()
        let requests = holder.take()
        try holder.commit(requests)
        holder.die()
        for number in 1...20 { try await other.put(.text("\(number)"), durability: .powerLoss) }
        #expect(try await call.value.sequence.rawValue == 1)
        #expect(try await store.texts() == ["it"] + (1...20).map(String.init))
        try await store.close()
        try await other.close()
    }

    /// What the disk has refused is not called durable, whichever process has committed it.
    @Test func aBrokenDiskIsFoundOutByThoseWhoWait() async throws {
        let disk = TestDisk(path)
        let stores = [
            try await SQLiteStore.openWithJobs(path, options: disk.options),
            try await SQLiteStore.open(path: path, options: disk.options),
        ]
        let holder = try LockHolder(path)
        let calls = stores.map { store in Task { try await store.put(.text("it"), durability: .powerLoss) } }
        try await holder.waitFor(2)
        disk.breakDown()
        holder.leave()
        for call in calls { await expect(.outcomeUnknown) { try await call.value } }
        // From now on it is refused before it is done.
        let before = try await stores[0].texts().count
        for store in stores { await expect(.storage) { try await store.put(.text("it"), durability: .powerLoss) } }
        #expect(try await stores[0].texts().count == before)
        for store in stores { try? await store.close() }
    }

    // MARK: Garbage

    /// Whatever the shared memory holds, calls are carried out once, and nobody waits for ever.
    @Test func garbageInTheMemoryDoesNoHarm() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        let random = SeededRandom(seed: seed)
        let stores = [try await SQLiteStore.openWithJobs(path), try await SQLiteStore.open(path: path)]
        let folder = try SharedFolder(besideDatabaseAt: path)
        let file = try folder.open(folder.file(WriterSlots.layout.fileName))
        defer { close(file) }
        let isOver = Flag()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !isOver.isRaised {
                    var bytes = (0..<256).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                    let place = Int(random.next() % UInt64(WriterSlots.layout.byteCount - 1024 - bytes.count)) + 1024
                    // The words and bells above all.
                    pwrite(file, &bytes, bytes.count, off_t(random.next() % 2 == 0 ? place : 1024 + place % 2048))
                    await Task.yield()
                }
            }
            await withTaskGroup(of: Void.self) { callers in
                for (index, store) in stores.enumerated() {
                    for caller in 1...4 {
                        callers.addTask {
                            for number in 1...50 {
                                let text = "\(index)-\(caller)-\(number)"
                                await #expect(throws: Never.self, "seed \(seed)") { try await store.put(.text(text)) }
                            }
                        }
                    }
                }
            }
            isOver.raise()
        }
        let texts = try await stores[0].texts()
        let own = texts.filter { $0.split(separator: "-").count == 3 }
        #expect(Set(own).count == own.count, "Something is there twice. Seed \(seed).")
        #expect(own.count == 400, "seed \(seed)")
        for store in stores { try await store.close() }
    }

    /// A request is carried out under its own name or not at all: under another one its owner would not find that it was, and
    /// carry it out again.
    @Test func aDamagedWordOrRequestIsNotTaken() async throws {
        let folder = try SharedFolder(besideDatabaseAt: path)
        let (own, others) = (try #require(WriterSlots(in: folder)), try #require(WriterSlots(in: folder)))
        let slot = try #require(WriterSlot(of: own))
        let posted = slot.begin { writer in
            writer.write([1, 2, 3] as [UInt8])
            return 1
        }
        #expect(posted == 1)
        own.set(slot.number, to: WriterSlots.Word(ticket: slot.ticket + 8, state: .posted))
        #expect(others.take(besides: nil).isEmpty)

        own.set(slot.number, to: WriterSlots.Word(ticket: slot.ticket, state: .posted))
        own.request(of: slot.number)[17] ^= 1
        #expect(others.take(besides: nil).isEmpty)

        own.request(of: slot.number)[17] ^= 1
        let taken = others.take(besides: nil)
        #expect(taken.map(\.ticket) == [slot.ticket])
        #expect(taken.first?.bytes.suffix(3) == [1, 2, 3])
    }

    /// Two releases may have the file open at once. When the slots have another layout in the other one, its answers say
    /// nothing of the slots here.
    @Test func anotherReleasesAnswerReplacesNone() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        try await DatabaseQueue(path: path).write { database in
            let connection = SQLiteConnection(database)
            let answers = Answers(fileNumber: 12)
            try answers.write([RequestAnswer(slot: 3, ticket: 7, bytes: [1, 2])], connection)
            for version in [WriterSlots.layout.version - 1, WriterSlots.layout.version + 1] {
                try Answers(layoutVersion: version, fileNumber: 12).write(
                    [RequestAnswer(slot: 3, ticket: 9, bytes: [0])], connection)
            }
            #expect(try answers.read(slot: 3, ticket: 7, connection) == [1, 2])
            #expect(try answers.read(slot: 3, ticket: 9, connection) == nil)
        }
    }

    /// A process that has the old file open posts at a slot of that, and one that has the new one at the slot of the same number.
    @Test func anAnswerOfAFileMadeAnewReplacesNone() async throws {
        try await SQLiteStore.openWithJobs(path).close()
        let folder = try SharedFolder(besideDatabaseAt: path)
        let old = try #require(WriterSlots(in: folder))
        try folder.makeAnew(folder.file(WriterSlots.layout.fileName))
        let new = try #require(WriterSlots(in: folder))
        try await DatabaseQueue(path: path).write { database in
            let connection = SQLiteConnection(database)
            try Answers(of: old).write([RequestAnswer(slot: 3, ticket: 7, bytes: [1])], connection)
            try Answers(of: new).write([RequestAnswer(slot: 3, ticket: 9, bytes: [1])], connection)
            #expect(try Answers(of: old).read(slot: 3, ticket: 7, connection) == [1])
            #expect(try Answers(of: new).read(slot: 3, ticket: 9, connection) == [1])
        }
    }

    /// A file that holds something else from its beginning is made anew.
    @Test(arguments: [WriterSlots.layout.fileName, DoorbellBoard.layout.fileName])
    func aDamagedFileIsMadeAnew(name: String) async throws {
        let folder = try SharedFolder(besideDatabaseAt: path)
        try Data((0..<100_000).map { _ in UInt8.random(in: 1...255) }).write(
            to: URL(fileURLWithPath: folder.file(name)))
        chmod(folder.file(name), 0o600)
        let store = try await SQLiteStore.openWithJobs(path)
        let holder = try LockHolder(path)
        let call = Task { try await store.put(.text("it")) }
        try await holder.waitFor()
        holder.leave()
        #expect(try await call.value.sequence.rawValue == 1)
        try await store.close()
    }
}
