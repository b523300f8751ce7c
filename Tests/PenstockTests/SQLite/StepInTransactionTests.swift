import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// Steps whose effect is in the store's own database: both are there, or neither.
@Suite(.timeLimit(.minutes(5))) struct StepInTransactionTests {
    struct Broken: Error {}

    let folder = TemporaryFolder()
    let pool: DatabasePool

    init() throws {
        pool = try DatabasePool(path: folder.file("test.db"))
        try pool.write { db in try db.execute(sql: "CREATE TABLE sale (item INTEGER)") }
    }

    private func sales() async throws -> [Int] {
        try await pool.read { db in try Int.fetchAll(db, sql: "SELECT item FROM sale ORDER BY rowid") }
    }

    private func steps(_ store: PenstockStore, _ receipt: Receipt) async throws -> [String] {
        try await store.journal(of: receipt.sequence).steps.map(\.name.text)
    }

    /// Works one attempt with that handler.
    private func attempt(_ queue: Queue<Int>, _ handler: @escaping Worker<Int>.Handler) async throws {
        try await Worker(queue, options: .init(max: 1), handler: handler).run()
    }

    private func open() async throws -> (PenstockStore, Queue<Int>, Receipt) {
        let store = try await PenstockStore.open(pool)
        let policy = QueuePolicy(retry: RetryPolicy(base: .zero, cap: .zero))
        let queue = try await store.queue("q", of: Int.self, policy: policy)
        return (store, queue, try await queue.enqueue(7))
    }

    @Test func aStepAndItsRecordAreOneTransaction() async throws {
        let (store, queue, receipt) = try await open()
        for isLast in [false, true] {
            try await attempt(queue) { [pool] delivery in
                let given = try await pool.write { db in
                    try delivery.step("sell", in: db) {
                        try db.execute(sql: "INSERT INTO sale VALUES (?)", arguments: [delivery.payload])
                        return "sold"
                    }
                }
                #expect(given == "sold")
                if !isLast { throw Broken() }
            }
        }
        #expect(try await sales() == [7])
        #expect(try await steps(store, receipt) == ["sell"])
        #expect(try await store.message(receipt.sequence).state == .done)
        try await store.close()
    }

    @Test func whatIsRolledBackIsTakenAgainUnderItsName() async throws {
        let (store, queue, receipt) = try await open()
        try await attempt(queue) { [pool] delivery in
            for isBroken in [true, false] {
                try? await pool.write { db in
                    try delivery.step("sell", in: db) { try db.execute(sql: "INSERT INTO sale VALUES (1)") }
                    if isBroken { throw Broken() }
                }
            }
            try await pool.write { db in
                try db.inSavepoint {
                    try delivery.step("more", in: db) { try db.execute(sql: "INSERT INTO sale VALUES (2)") }
                    return .rollback
                }
                try delivery.step("more", in: db) { try db.execute(sql: "INSERT INTO sale VALUES (3)") }
                try delivery.step("more", in: db) { try db.execute(sql: "INSERT INTO sale VALUES (4)") }
            }
            // One that is no part of a transaction sees them as well.
            try await delivery.step("more") {}
        }
        #expect(try await sales() == [1, 3, 4])
        #expect(try await steps(store, receipt) == ["sell", "more", "more#2", "more#3"])
        try await store.close()
    }

    @Test func inALoopNoItemGetsTheRecordOfAnother() async throws {
        let (store, queue, receipt) = try await open()
        for run in 1...2 {
            try await attempt(queue) { [pool] delivery in
                for item in 1...3 {
                    try? await pool.write { db in
                        try delivery.step("sell", in: db) {
                            if run == 1, item == 2 { throw Broken() }
                            try db.execute(sql: "INSERT INTO sale VALUES (?)", arguments: [item])
                        }
                    }
                }
            }
            #expect(try await store.message(receipt.sequence).state == (run == 1 ? .ready : .done))
        }
        #expect(try await sales() == [1, 2, 3])
        #expect(try await steps(store, receipt) == ["sell", "sell#2", "sell#3"])
        try await store.close()
    }

    @Test func aStepThatGivesTooMuchIsRolledBackAndMakesADeadLetter() async throws {
        let (store, queue, receipt) = try await open()
        try await attempt(queue) { [pool] delivery in
            _ = try await pool.write { db in
                try delivery.step("sell", in: db) {
                    try db.execute(sql: "INSERT INTO sale VALUES (1)")
                    return [UInt8](repeating: 0, count: Limits.resultBytesMax + 1)
                }
            }
        }
        #expect(try await sales() == [])
        #expect(try await store.message(receipt.sequence).state == .dead)
        try await store.close()
    }

    @Test func withoutItsLeaseAStepComesToNothing() async throws {
        let (store, queue, receipt) = try await open()
        try await attempt(queue) { [pool] delivery in
            try await store.cancelNow([receipt.sequence])
            // The handler is cancelled as it loses its message, and a task of its own is not.
            let sale = Task {
                try await pool.write { db in
                    try delivery.step("sell", in: db) { try db.execute(sql: "INSERT INTO sale VALUES (1)") }
                }
            }
            await #expect(throws: PenstockError.self) { try await sale.value }
        }
        #expect(try await sales() == [])
        #expect(try await steps(store, receipt) == [])
        try await store.close()
    }

    @Test func aWorkflowBeginsWithTheTransactionThatStartsIt() async throws {
        let (store, queue, _) = try await open()
        var workflow = Workflow("w")
        let first = try workflow.add("first", 1, to: queue)
        try workflow.add("second", 2, to: queue, after: first)
        try? await pool.write { [workflow] db in
            try store.start(workflow, in: db)
            throw Broken()
        }
        await #expect(throws: PenstockError.self) { try await store.workflow("w") }
        for isNew in [true, false] {
            let started = try await pool.write { [workflow] db in try store.start(workflow, in: db) }
            #expect(started.isNew == isNew && started[first]?.state == .ready)
        }
        try await pool.write { db in _ = try store.emit("go", "now", to: .workflow(WorkflowName("w")), in: db) }
        try await Worker(queue, options: .init(drain: true)) { [pool] delivery in
            guard delivery.task != nil else { return }
            let word = try await delivery.event("go", as: String.self)
            var more = Workflow()
            if delivery.payload == 1 { try more.add("third", 3, to: queue) }
            try await pool.write { [more] db in
                if more.tasks.isEmpty {
                    try delivery.done(result: word, in: db)
                } else {
                    try delivery.done(adding: more, in: db)
                }
            }
        }.run()
        #expect(try await store.tasks(of: "w").map(\.name.text) == ["first", "second", "third"])
        #expect(try await store.workflow("w").state == .done)
        #expect(try await store.result(of: "second", in: "w", as: String.self) == "now")
        try await store.close()
    }

    @Test func aStoreInMemoryHasNoTransactions() async throws {
        let the = Fixture()
        let queue = try await the.queue()
        try await queue.enqueue(1)
        try await the.drain(queue) { [pool] delivery in
            let code = await the.code { try await pool.write { db in try delivery.step("s", in: db) {} } }
            #expect(code == .invalidInput)
        }
    }
}
