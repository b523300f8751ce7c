import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// A transaction forgets so many bytes, and no more: SQLite keeps all of it in memory until the COMMIT.
@Suite(.timeLimit(.minutes(5))) struct ForgottenBytesTests {
    private static let countLog = Query("SELECT count(*) FROM penstock_log")
    private static let countReady = Query("SELECT sum(ready) FROM penstock_depth")

    private let four = NewMessage.text("four")

    private func append(_ messages: [NewMessage], to queue: QueueName = .jobs, in transaction: Transaction) throws {
        _ = try Appending.perform(messages, to: queue, unless: nil, durability: .processCrash, in: transaction)
    }

    /// One step of a pruning, in a transaction that may forget so many bytes.
    private func prune(_ file: RungFile, bytes: Int64) throws -> Pruned {
        var pruned = Pruned()
        try file.transact { transaction in
            transaction.bytesLeft = bytes
            let request = PruneRequest(retention: Retention(age: .zero))
            pruned = try Pruning.perform(request, of: [.jobs, .mail], besides: [:], from: nil, in: transaction).pruned
        }
        return pruned
    }

    /// How many messages are in the log, and by its depth in the queue.
    private func kept(_ file: RungFile, in queue: QueueName = .jobs) throws -> [Int64] {
        var counts: [Int64] = []
        try file.transact { transaction in
            let account = try transaction.account(of: queue)
            counts = [
                try transaction.connection.integer(Self.countLog) ?? -1,
                try Pruning.keptCount(account, in: transaction),
            ]
        }
        return counts
    }

    @Test func aPruningEndsWithTheMessageThatHasTooMany() throws {
        let file = try RungFile()
        try file.transact { try append(Array(repeating: four, count: 6), in: $0) }
        try file.transact { try append([four, four], to: .mail, in: $0) }
        #expect(try prune(file, bytes: 1) == Pruned(messages: 1, hasMore: true), "One at least.")
        #expect(try kept(file) == [7, 5])
        #expect(try prune(file, bytes: 8) == Pruned(messages: 2, hasMore: true))
        #expect(try kept(file) == [5, 3])
        #expect(try prune(file, bytes: 12) == Pruned(messages: 3, hasMore: true), "The other queue has some.")
        #expect(try kept(file) == [2, 0])
        #expect(try prune(file, bytes: 0) == Pruned(hasMore: true), "Another call has forgotten enough.")
        #expect(try prune(file, bytes: 4) == Pruned(messages: 1, hasMore: true))
        #expect(try prune(file, bytes: 4) == Pruned(messages: 1), "That was exactly all.")
        #expect(try prune(file, bytes: 0) == Pruned())
        #expect(try kept(file, in: .mail) == [0, 0])
    }

    @Test(arguments: ["result", "step", "event"]) func whatMessagesLeaveBesideThemselvesCounts(_ kind: String) throws {
        let file = try RungFile()
        try file.enqueue(.text("a"), .text("b"), .text("c"))
        let much = [UInt8](repeating: 7, count: 1000)
        let (step, event) = (try StepName("s"), NewEvent(try EventName("e"), payload: much))
        for _ in 1...3 {
            let lease = try #require(try file.claim().message).lease
            try file.transact { transaction in
                if kind == "step" {
                    _ = try Journals.record(step, much, on: lease, extendingBy: nil, in: transaction)
                } else if kind == "event" {
                    _ = try Events.emit(
                        event, to: .message(lease.sequence), durability: .processCrash, in: transaction)
                }
            }
            _ = try file.settle(Settlement(lease, .done, result: kind == "result" ? much : nil))
        }
        #expect(try prune(file, bytes: 1000) == Pruned(messages: 1, hasMore: true))
        #expect(try prune(file, bytes: 1002) == Pruned(messages: 2), "The second one has too many.")
        #expect(try kept(file) == [0, 0])
    }

    @Test func aPruningOfTasksEndsAsWell() throws {
        let file = try RungFile()
        let tasks = ["a", "b", "c"].map { NewTask(TaskName(stored: $0), queue: .jobs, message: four) }
        try file.transact { transaction in
            _ = try Workflows.start(NewWorkflow(.flow, tasks: tasks), durability: .processCrash, in: transaction)
        }
        for _ in 1...3 { _ = try file.work(.done) }
        #expect(try prune(file, bytes: 8) == Pruned(messages: 2, hasMore: true))
        #expect(try kept(file) == [1, 1])
        #expect(try prune(file, bytes: 8) == Pruned(messages: 1))
        #expect(try kept(file) == [0, 0])
    }

    /// The events of a workflow go with its last task, and count with it.
    @Test func eventsOfWorkflowsCount() throws {
        let file = try RungFile()
        let event = NewEvent(try EventName("e"), payload: [UInt8](repeating: 7, count: 1000))
        for name in ["x", "y"] {
            let flow = WorkflowName(stored: name)
            let tasks = ["a", "b"].map { NewTask(TaskName(stored: $0), queue: .jobs, message: four) }
            try file.transact { transaction in
                _ = try Workflows.start(NewWorkflow(flow, tasks: tasks), durability: .processCrash, in: transaction)
                _ = try Events.emit(event, to: .workflow(flow), durability: .processCrash, in: transaction)
            }
        }
        for _ in 1...4 { _ = try file.work(.done) }
        #expect(try prune(file, bytes: 12) == Pruned(messages: 2, hasMore: true), "The second one has too many.")
        #expect(try prune(file, bytes: 12) == Pruned(messages: 2))
        #expect(try kept(file) == [0, 0])
    }

    @Test func aDeletionGoesOnWhereAStepHadTooMany() throws {
        let file = try RungFile()
        try file.enqueue(four, four, four, four, four)
        try file.transact { try Deleting.begin(.jobs, force: true, in: $0) }
        var left: [[Int64]] = []
        for bytes: Int64 in [8, 0, 1, 8] {
            var isGone = false
            try file.transact { transaction in
                transaction.bytesLeft = bytes
                if case .isGone = try Deleting.step(.jobs, force: true, limit: 10, in: transaction) { isGone = true }
            }
            try file.transact { transaction in
                left.append([
                    try transaction.connection.integer(Self.countLog) ?? -1,
                    try transaction.connection.integer(Self.countReady) ?? -1, isGone ? 1 : 0,
                ])
            }
        }
        #expect(left == [[3, 3, 0], [3, 3, 0], [2, 2, 0], [0, 0, 1]])
    }

    /// A log that is full forgets as much as comes; what it has beyond its count besides goes with later calls, and with prunings.
    @Test func anAppendForgetsAsMuchAsComes() throws {
        let file = try RungFile()
        try file.transact { try append(Array(repeating: four, count: 6), in: $0) }
        try file.configure(.set(QueuePolicy(retention: Retention(count: 2))))
        var left: [[Int64]] = []
        for bytes: Int64 in [0, 4, 100, 0] {
            try file.transact { transaction in
                transaction.bytesLeft = bytes
                try append([four], in: transaction)
            }
            left.append(try kept(file))
        }
        #expect(left == [[6, 6], [5, 5], [2, 2], [2, 2]])
    }

    // MARK: Large messages

    /// What one transaction may forget is no less than the largest message, and no more than two of these.
    @Test func aStoreForgetsLargeMessagesInSteps() async throws {
        let harness = SQLiteHarness()
        let store = try await harness.openWithJobs()
        let large = NewMessage(payload: [UInt8](repeating: 7, count: Limits.payloadBytesMax))
        _ = try await store.append([large, large, large], to: .jobs, unless: nil, durability: .processCrash)
        let request = PruneRequest(retention: Retention(age: .zero))
        #expect(try await store.prune(request) == Pruned(messages: 2, hasMore: true))
        #expect(try await store.depths().kept == 1)
        #expect(try await store.prune(request) == Pruned(messages: 1))
        #expect(try await store.depths().kept == 0)
        try await store.close()
    }
}
