import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What a receipt says of the disk.
@Suite(.timeLimit(.minutes(5))) struct DurabilityTests {
    private let folder = TemporaryFolder()
    private let disk: TestDisk
    private var path: String { folder.file("queue.db") }

    init() throws {
        disk = TestDisk(folder.file("queue.db"))
    }

    /// What `body` gives, which must wait for so many flushes.
    private func waiting<T>(
        for flushes: Int, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> T
    ) async rethrows -> T {
        let before = disk.flushCount
        let value = try await body()
        #expect(disk.flushCount - before == flushes, sourceLocation: sourceLocation)
        return value
    }

    @Test func eachCallHasTheDurabilityThatItAskedFor() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        let flushed = try await waiting(for: 1) { try await store.put(.text("a"), durability: .powerLoss) }
        #expect(flushed.durability == .powerLoss)
        let committed = try await waiting(for: 0) { try await store.put(.text("b"), durability: .processCrash) }
        #expect(committed.durability == .processCrash)
        // Losing a claim or a verdict means delivering again.
        let messages = try await waiting(for: 0) { try await store.take(2) }
        try await waiting(for: 1) { try await store.configure(.jobs, .pause) }
        _ = try await waiting(for: 0) { try await store.settle(messages.map { Settlement($0.lease, .done) }) }
        try await store.close()
    }

    @Test func aGroupIsFlushedOnce() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        let held = try await HeldWriter(store)
        async let first: Receipt = store.put(.text("a"), durability: .powerLoss)
        async let second: Receipt = store.put(.text("b"), durability: .processCrash)
        async let third: Receipt = store.put(.text("c"), durability: .powerLoss)
        try await held.waitForCalls(3)
        let before = disk.flushCount
        try await held.letGo()
        _ = try await (first, second, third)
        #expect(disk.flushCount == before + 1)
        try await store.close()
    }

    /// One that asks to be told is answered after the COMMIT, and other calls go on.
    @Test(arguments: [false, true])
    func aCallNeedNotWaitForTheDisk(isBroken: Bool) async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        let (told, telling) = AsyncStream<PenstockError?>.makeStream()
        disk.hold()
        let enqueue = StoreOperation.enqueue([.text("a")], to: .jobs, durability: .powerLoss)
        let performed = try await store.perform([enqueue]) { telling.yield($0 as? PenstockError) }
        #expect(performed.failure == nil)
        #expect(try await store.take(1).count == 1)
        #expect(try disk.textsAfterPowerCut().isEmpty)

        disk.breakDown(isBroken)
        disk.letGo()
        let failure = try #require(await told.first { _ in true })
        #expect(failure?.code == (isBroken ? .outcomeUnknown : nil))
        if !isBroken { #expect(try disk.textsAfterPowerCut() == ["a"]) }
        try await store.close()
    }

    /// What a step gave may be used outside as soon as it is on record, also when another attempt has recorded it.
    @Test func aStepIsAsDurableAsItWasAskedToBe() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        try await store.put(.text("a"), durability: .powerLoss)
        let lease = try #require(try await store.take(1).first).lease
        func record(_ name: String, _ durability: Durability) async throws {
            _ = try await store.record(
                StepName(name), result: [1], on: lease, extendingBy: nil, durability: durability)
        }
        try await waiting(for: 0) { try await record("a", .processCrash) }
        try await waiting(for: 1) { try await record("b", .powerLoss) }
        try await waiting(for: 0) { try await record("c", .processCrash) }
        try await waiting(for: 1) { try await record("c", .powerLoss) }
        try await store.close()
    }

    private func workflow(_ name: String) -> NewWorkflow {
        NewWorkflow(
            WorkflowName(stored: name), tasks: [NewTask(TaskName(stored: "t"), queue: .jobs, message: .text(name))])
    }

    @Test func aWorkflowAndAnEventAreAsDurableAsTheyWereAskedToBe() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        func start(_ name: String, _ durability: Durability) async throws -> StartedWorkflow {
            try await store.start(workflow(name), durability: durability)
        }
        func emit(_ name: String, _ durability: Durability) async throws -> Bool {
            try await store.emit(
                NewEvent(EventName(name)), to: .workflow(WorkflowName(stored: "a")), durability: durability)
        }
        #expect(try await waiting(for: 0) { try await start("a", .processCrash) }.isNew)
        #expect(try disk.textsAfterPowerCut().isEmpty)
        #expect(try await waiting(for: 1) { try await start("b", .powerLoss) }.isNew)
        #expect(try disk.textsAfterPowerCut() == ["a", "b"])
        #expect(try await waiting(for: 0) { try await emit("x", .processCrash) })
        #expect(try await waiting(for: 1) { try await emit("y", .powerLoss) })
        // What is there already may never have been flushed.
        #expect(try await waiting(for: 0) { try await start("a", .processCrash) }.isNew == false)
        #expect(try await waiting(for: 1) { try await start("a", .powerLoss) }.isNew == false)
        #expect(try await waiting(for: 0) { try await emit("x", .processCrash) } == false)
        #expect(try await waiting(for: 1) { try await emit("x", .powerLoss) } == false)
        try await store.close()
    }

    /// In an application's pool the COMMIT flushes, and one that writes nothing flushes nothing.
    @Test func aWorkflowAndAnEventThatAreThereInAnApplicationsPoolAreWrittenFor() async throws {
        let pool = try DatabasePool(path: path)
        let store = try await SQLiteStore.open(pool: pool)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        let receipts = try await store.start(workflow("a"), durability: .processCrash).receipts
        let sequence = try #require(receipts.first).sequence
        let event = try NewEvent(EventName("x"))
        let targets: [EventTarget] = [.workflow(WorkflowName(stored: "a")), .message(sequence)]
        for target in targets { #expect(try await store.emit(event, to: target, durability: .processCrash)) }
        let program = try ForeignProgram(path)
        var version = try await program.number("PRAGMA data_version")
        func hasWritten() async throws -> Bool {
            let before = version
            version = try await program.number("PRAGMA data_version")
            return version != before
        }
        #expect(try await !store.start(workflow("a"), durability: .processCrash).isNew)
        #expect(try await !hasWritten())
        #expect(try await !store.start(workflow("a"), durability: .powerLoss).isNew)
        #expect(try await hasWritten(), "a workflow")
        for target in targets {
            #expect(try await !store.emit(event, to: target, durability: .processCrash))
            #expect(try await !hasWritten())
            #expect(try await !store.emit(event, to: target, durability: .powerLoss))
            #expect(try await hasWritten(), "an event of \(target)")
        }
        try await store.close()
    }

    /// The message that is there may never have been flushed.
    @Test func aSkippedMessageIsAsDurableAsItsReceiptSays() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        try await store.put(.text("it", key: "k"), durability: .processCrash)
        let skipped = try await waiting(for: 0) {
            try await store.put(.text("again", key: "k"), durability: .processCrash)
        }
        #expect(skipped.skipped)
        #expect(try disk.textsAfterPowerCut().isEmpty)

        let receipt = try await store.put(.text("again", key: "k"), durability: .powerLoss)
        #expect(receipt.skipped)
        #expect(receipt.durability == .powerLoss)
        #expect(try disk.textsAfterPowerCut() == ["it"])
        try await store.close()
    }

    /// In an application's pool the COMMIT flushes, and one that writes nothing flushes nothing.
    @Test func aSkippedMessageInAnApplicationsPoolIsWrittenFor() async throws {
        let pool = try DatabasePool(path: path)
        let store = try await SQLiteStore.open(pool: pool)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        try await store.put(.text("it", key: "k"), durability: .processCrash)
        let program = try ForeignProgram(path)
        let version = try await program.number("PRAGMA data_version")
        #expect(try await store.put(.text("again", key: "k"), durability: .processCrash).skipped)
        #expect(try await program.number("PRAGMA data_version") == version)
        #expect(try await store.put(.text("again", key: "k"), durability: .powerLoss).skipped)
        #expect(try await program.number("PRAGMA data_version") != version)
        try await store.close()
    }

    /// Whenever the power fails, what was acknowledged before is there.
    @Test func whatIsAcknowledgedIsOnTheDisk() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        var cutCount = 0
        try await withThrowingTaskGroup(of: Void.self) { [disk] group in
            for producer in 0..<8 {
                group.addTask {
                    for number in 0..<50 {
                        let batch = (0..<number % 3 + 1).map { "\(producer) \(number) \($0)" }
                        let isDurable = number % 5 != 4
                        _ = try await store.enqueue(
                            batch.map { .text($0) }, to: .jobs, durability: isDurable ? .powerLoss : .processCrash)
                        if isDurable { disk.acknowledge(batch) }
                    }
                }
            }
            group.addTask {
                while disk.acknowledged.count < 600 {
                    let messages = try await store.take(10)
                    _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
                }
            }
            while disk.acknowledged.count < 600 {
                let told = disk.acknowledged
                #expect(try disk.textsAfterPowerCut().isSuperset(of: told))
                cutCount += 1
            }
            try await group.waitForAll()
        }
        #expect(cutCount > 1)
        let told = disk.acknowledged
        #expect(try disk.textsAfterPowerCut().isSuperset(of: told))
        try await store.close()
    }

    /// A flush that succeeds after one that failed says nothing of what the first one lost.
    @Test func nothingIsCalledDurableAfterAFlushThatFailed() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        disk.breakDown()
        let error = await expect(.outcomeUnknown) { try await store.put(.text("a"), durability: .powerLoss) }
        #expect(error?.message.contains("a power cut may undo it") == true)
        disk.breakDown(false)
        // What cannot be durable any more is refused before it is done.
        await expect(.storage) { try await store.put(.text("b"), durability: .powerLoss) }
        #expect(try await store.put(.text("c"), durability: .processCrash).durability == .processCrash)
        try await store.close()

        let again = try await SQLiteStore.open(path: path, options: disk.options)
        try await again.put(.text("d"), durability: .powerLoss)
        #expect(try await again.texts() == ["a", "c", "d"])
        try await again.close()
    }

    /// What works with a store for long asks for nothing that is flushed, and is to end as well, with what it has in hand settled.
    @Test func aLookForLostWorkFindsThatAFlushHasFailed() async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        try await store.put(.text("it"))
        let lease = try #require(try await store.take().first).lease
        disk.breakDown()
        await expect(.outcomeUnknown) { try await store.put(.text("a"), durability: .powerLoss) }
        disk.breakDown(false)
        let error = await expect(.storage) { try await store.reclaim() }
        #expect(error?.needsReopening == true && error?.mayPass == false)
        #expect(try await store.settle([Settlement(lease, .done)]) == [.settled(.done)])
        try await store.close()

        let again = try await SQLiteStore.open(path: path, options: disk.options)
        _ = try await again.reclaim()
        try await again.close()
    }

    /// The caller has no answer, so what was claimed for it would be nobody's until its lease ends.
    @Test(arguments: [true, false])
    func whatWasClaimedWithAnEnqueueThatIsNotFlushedGoesBackAtOnce(claimsFirst: Bool) async throws {
        let store = try await SQLiteStore.openWithJobs(path, options: disk.options)
        try await store.put(.text("it"))
        let enqueue = StoreOperation.enqueue([.text("more")], to: .jobs, durability: .powerLoss)
        let claim = StoreOperation.claim(ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30)))
        disk.breakDown()
        await expect(.outcomeUnknown) { try await store.perform(claimsFirst ? [claim, enqueue] : [enqueue, claim]) }
        #expect(try await store.depths().leased == 0)
        let message = try #require(try await store.take().first)
        #expect((String(decoding: message.payload, as: UTF8.self), message.attempt) == ("it", 1))
        try await store.close()
    }
}
