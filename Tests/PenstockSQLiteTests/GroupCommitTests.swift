import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Many calls in one transaction: cheap together, and each with its own answer.
@Suite(.timeLimit(.minutes(5))) struct GroupCommitTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    @Test func callsThatGatherShareOneTransaction() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let commits = CommitCount(store)
        let held = try await HeldWriter(store)
        try await withThrowingTaskGroup(of: SequenceNumber.self) { group in
            for number in 1...200 {
                group.addTask { try await store.put(.text("\(number)"), durability: .powerLoss).sequence }
            }
            try await held.waitForCalls(200)
            try await held.letGo()
            let sequences = try await group.reduce(into: []) { $0.append($1) }
            #expect(sequences.map(\.rawValue).sorted() == Array(1...200))
        }
        #expect(commits.value == 2, "The one that was held, and one for all.")
        #expect(try await store.depths().ready == 200)
        try await store.close()
    }

    @Test func callersEachKeepTheirOrder() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await withThrowingTaskGroup(of: [Int64].self) { group in
            for caller in 1...30 {
                group.addTask {
                    var sequences: [Int64] = []
                    for number in 1...20 {
                        sequences.append(try await store.put(.text("\(caller) \(number)")).sequence.rawValue)
                    }
                    return sequences
                }
            }
            let all = try await group.reduce(into: [[Int64]]()) { $0.append($1) }
            for sequences in all { #expect(sequences == sequences.sorted()) }
            #expect(all.joined().sorted() == Array(1...600))
        }
        try await store.close()
    }

    @Test func aRefusedCallNeitherHarmsNorRepeatsTheOthers() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.configure(.mail, .create(.bounded(1, .fail), ifAbsent: false))
        let commits = CommitCount(store)
        let held = try await HeldWriter(store)
        async let first: Receipt = store.put(.text("first"))
        let letter = Task { try await store.enqueue([.text("a"), .text("b")], to: .mail, durability: .powerLoss) }
        let lost = Task { try await store.put(.text("lost"), to: QueueName("nowhere")) }
        let cursor = Task { try await store.moveCursor(CursorName("gone"), of: .mail, .advance(to: SequenceNumber(1))) }
        async let last: Receipt = store.put(.text("last"))
        try await held.waitForCalls(5)
        try await held.letGo()
        await expect(.queueFull) { try await letter.value }
        await expect(.unknownQueue) { try await lost.value }
        await expect(.unknownCursor) { try await cursor.value }
        #expect(try await Set([first.sequence.rawValue, last.sequence.rawValue]) == [1, 2])
        #expect(commits.value == 2, "No transaction was undone.")
        #expect(try await store.depths(.mail).ready == 0)
        try await store.close()
    }

    @Test(arguments: ["storage", "its own"]) func aCallThatFailsInTheMiddleFailsAlone(_ kind: String) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("before"))
        let held = try await HeldWriter(store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...20 {
                group.addTask { try await store.put(.text("\(number)")) }
            }
            group.addTask {
                await #expect(throws: (any Error).self) {
                    try await store.core.writer.perform { transaction in
                        _ = try Enqueue.perform(
                            [.text("never")], to: .jobs, durability: .processCrash, in: transaction)
                        if kind == "its own" { throw PenstockError(.corrupt, "Halfway.") }
                        try transaction.connection.run(Query("INSERT INTO penstock_depth (queue_id) VALUES (1)"))
                    }
                }
            }
            try await held.waitForCalls(21)
            try await held.letGo()
            try await group.waitForAll()
        }
        let texts = try await store.texts()
        #expect(texts.count == 21)
        #expect(!texts.contains("never"))
        #expect(try await store.depths().ready == 21)
        let sequences = try await store.messages(MessageQuery()).map(\.sequence.rawValue)
        #expect(sequences == Array(1...21), "What was undone has used no number.")
        try await store.close()
    }

    @Test func aQueueThatIsDeletedMeanwhileIsOnlyItsOwnCallersConcern() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let other = try await SQLiteStore.open(path: path)
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        try await store.put(.text("known"), to: .mail)
        try await other.configure(.mail, .delete(force: true))
        let held = try await HeldWriter(store)
        async let job: Receipt = store.put(.text("job"))
        let letter = Task { try await store.put(.text("letter"), to: .mail) }
        try await held.waitForCalls(2)
        try await held.letGo()
        await expect(.unknownQueue) { try await letter.value }
        _ = try await job
        try await other.close()
        try await store.close()
    }

    @Test func aLargeGroupGoesInSeveralTransactions() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let commits = CommitCount(store)
        let held = try await HeldWriter(store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...5 {
                group.addTask {
                    let batch = (1...4000).map { NewMessage.text("\($0)") }
                    _ = try await store.enqueue(batch, to: .jobs, durability: .processCrash)
                }
            }
            try await held.waitForCalls(5)
            try await held.letGo()
            try await group.waitForAll()
        }
        #expect((3...5).contains(commits.value - 1), "Ten thousand rows in one, about.")
        #expect(try await store.depths().ready == 20_000)
        try await store.close()
    }

    @Test func largePayloadsGoInSeveralTransactions() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let commits = CommitCount(store)
        let held = try await HeldWriter(store)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...16 {
                group.addTask { try await store.put(NewMessage(payload: [UInt8](repeating: 0, count: 16 << 20))) }
            }
            try await held.waitForCalls(16)
            try await held.letGo()
            try await group.waitForAll()
        }
        #expect((4...8).contains(commits.value - 1), "Some eighty MiB in one.")
        try await store.close()
    }

    @Test func numbersAreNeverUsedTwice() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        _ = try await store.enqueue((1...5).map { .text("\($0)") }, to: .jobs, durability: .processCrash)
        _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.ready]))
        while try await store.prune(PruneRequest(retention: Retention(age: .zero))).hasMore {}
        #expect(try await store.texts().isEmpty)
        #expect(try await store.put(.text("6")).sequence.rawValue == 6)
        try await store.configure(.jobs, .delete(force: true))
        try await store.close()
        let again = try await SQLiteStore.openWithJobs(path)
        #expect(try await again.put(.text("7")).sequence.rawValue == 7)
        try await ForeignProgram(path).run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', '8')")
        #expect(try await again.put(.text("9")).sequence.rawValue == 9)
        try await again.close()
    }
}
