import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// The steps of a copy: what each brings, and that none comes twice or is left out.
@Suite(.timeLimit(.minutes(5))) struct CopyStepTests: CopyFixture {
    let time = ManualTime()
    let folder = TemporaryFolder()

    private func fill() async throws {
        let store = try await open(source)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        let messages = (1...1500).map { NewMessage.text("\($0)") }
        _ = try await store.enqueue(messages, to: .jobs, durability: .processCrash)
        try await store.close()
    }

    /// A batch is in memory, and in one transaction of the target.
    @Test(arguments: ["payload", "event", "workflow"])
    func largeMessagesComeInSeveralBatches(_ large: String) async throws {
        let (from, into) = (try await open(source), try await open(target))
        try await from.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        let much = [UInt8](repeating: 7, count: 1 << 20)
        let event = NewEvent(try EventName("e"), payload: much)
        for number in 1...10 {
            if large == "workflow" {
                let flow = WorkflowName(stored: "\(number)")
                let task = NewTask(TaskName(stored: "t"), queue: .jobs, message: NewMessage(payload: []))
                _ = try await from.start(NewWorkflow(flow, tasks: [task]), durability: .processCrash)
                _ = try await from.emit(event, to: .workflow(flow), durability: .processCrash)
                continue
            }
            let receipt = try await from.put(NewMessage(payload: large == "event" ? [] : much))
            if large == "event" {
                _ = try await from.emit(event, to: .message(receipt.sequence), durability: .processCrash)
            }
        }
        let told = Mutex<Set<Int>>([])
        let report = try await from.copy(to: into, move) { progress in
            told.withLock { _ = $0.insert(progress.messages) }
        }
        #expect(report.total == 10)
        #expect(told.withLock { $0 } == [4, 8, 10])
        for store in [from, into] { try await store.close() }
    }

    /// With the first of its tasks, and not with each batch in which there are some.
    @Test func eventsOfAWorkflowComeOnce() throws {
        let file = try RungFile()
        let tasks = (1...501).map { NewTask(TaskName(stored: "\($0)"), queue: .jobs, message: .text("x")) }
        let event = NewEvent(try EventName("e"), payload: [7])
        try file.transact { transaction in
            _ = try Workflows.start(NewWorkflow(.flow, tasks: tasks), durability: .processCrash, in: transaction)
            _ = try Events.emit(event, to: .workflow(.flow), durability: .processCrash, in: transaction)
        }
        var batches: [CopyBatch] = []
        try file.transact { transaction in
            var place = CopyBatch.Place()
            while let batch = try CopyBatch.read(from: place, withLog: false, transaction.connection) {
                batches.append(batch)
                place = batch.upTo
            }
        }
        #expect(batches.map(\.messages).filter { $0 > 0 } == [500, 1])
        #expect(batches.flatMap(\.parts).filter { $0.table.name == "event" }.map(\.rows.count) == [1])
    }

    @Test func aCopyThatGoesOnTellsOfAllThatHasCome() async throws {
        try await fill()
        // The source is closed, the queues are made, and of three batches two have come.
        let left = Countdown(4)
        let (from, into) = (try await open(source, afterStep: { try left.step() }), try await open(target))
        let told = Mutex<[Int]>([])
        for _ in 1...2 {
            do {
                let report = try await from.copy(to: into, move) { progress in
                    told.withLock { $0.append(progress.messages) }
                }
                #expect(report.total == 1500)
            } catch is Countdown.Over {
                left.set(.max)
            }
        }
        #expect(Array(told.withLock { $0 }.prefix(3)) == [500, 1000, 1500])
        #expect(Set(told.withLock { $0 }) == [500, 1000, 1500])
        for store in [from, into] { try await store.close() }
    }

    /// Another one has brought the next batch since this one has read it, and then died.
    @Test func ofTwoCopiesThatGoOnWithOneMoveOneEnds() async throws {
        try await fill()
        let into = try await open(target)
        let dying = Countdown(2)
        let other = try await open(source, afterStep: { try dying.step() })
        let steps = Countdown(.max)
        let from = try await open(
            source,
            afterStep: { [move] in
                try steps.step()
                // The queues are there, and nothing of what they have.
                guard steps.count == 2 else { return }
                await #expect(throws: Countdown.Over.self) { _ = try await other.copy(to: into, move) { _ in } }
            })
        let error = await expect(.busy) { try await from.copy(to: into, move) { _ in } }
        #expect(error?.message.hasPrefix("Another `penstock copy` goes on with this move") == true)
        #expect(try await from.copy(to: into, move) { _ in }.total == 1500)
        for store in [from, other, into] { try await store.close() }
        #expect(try await findings(target) == [])
    }

    /// A producer may name any number as the origin of a message.
    @Test func aNumberThatCannotBeHigherStaysAsItIs() async throws {
        let (from, into) = (try await open(source), try await open(target))
        try await from.configure(.jobs, .create(QueuePolicy(), ifAbsent: true))
        for origin in [1, Int64.max] { try await from.put(NewMessage(payload: [], origin: SequenceNumber(origin))) }
        try await into.configure(.mail, .create(QueuePolicy(), ifAbsent: true))
        try await into.put(.text("its own"), to: .mail)
        #expect(try await from.copy(to: into, move) { _ in }.sequenceOffset == 1)
        let origins = try await into.messages(MessageQuery(queue: .jobs)).map(\.origin?.rawValue)
        #expect(origins == [2, Int64.max])
        for store in [from, into] { try await store.close() }
    }

    /// The source may be removed once it says that it has moved.
    @Test func whatIsMissingInTheTargetIsFoundInTime() async throws {
        try await fill()
        let into = try await open(target)
        let program = try ForeignProgram(target)
        let steps = Countdown(.max)
        let from = try await open(
            source,
            afterStep: {
                try steps.step()
                if steps.count == 3 { try await program.run("DELETE FROM penstock_ready WHERE sequence = 7") }
            })
        let error = await expect(.corrupt) { try await from.copy(to: into, move) { _ in } }
        #expect(error?.message.contains("of 'jobs' 1500 and 1499 messages are ready") == true)
        #expect(try await from.status(of: nil).move?.phase == .copying)
        #expect(try await into.status(of: nil).queues.map(\.isDeleting) == [true])
        // As the sentence says.
        #expect(try await from.cancelCopy(into: into) == "target.db")
        #expect(try await from.copy(to: into, move) { _ in }.total == 1500)
        for store in [from, into] { try await store.close() }
        #expect(try await findings(target) == [])
    }

    /// A column that is left out is lost with the file that was left.
    @Test func everyColumnIsCopied() async throws {
        try await open(source).close()
        let program = try ForeignProgram(source)
        let copied = CopiedTable.ofMessages + CopiedTable.ofQueues + [CopiedTable.cascade]
        // Those of queues come with their settings.
        let settings: Set<String> = ["queue", "depth", "limit"]
        // What belongs to processes, and to the file itself.
        let left: Set<String> = [
            "answer", "arrival", "arriving", "cancel", "lease", "migration", "progress", "quarantine", "remote_worker",
            "state", "store", "worker",
        ]
        let tables = try await program.rows(
            "SELECT substr(name, 10) FROM sqlite_master WHERE type = 'table' AND name GLOB 'penstock_*'")
        #expect(Set(tables) == settings.union(left).union(copied.map(\.name)))
        // Given anew where they come.
        let made = ["schedule": "id", "firing": "schedule_id"]
        for table in copied {
            let columns = try await program.rows("SELECT name FROM pragma_table_info('penstock_\(table.name)')")
            let own = columns.filter { $0 != made[table.name] }
            #expect(Set(own) == Set(table.columns.map(\.name).filter { !$0.contains(".") }), "\(table.name)")
        }
        try program.close()
    }
}
