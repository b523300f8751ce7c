import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Steps, workflows and events in transactions of the application's own, on the store's connections.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct StepTransactionTests {
    private let schema: String
    private let server: ServerConnection
    private let store: PenstockStore
    private let queue: Queue<Int>
    private let table: String

    private struct Broken: Error {}

    init() async throws {
        let url = try PostgresServer.newURL()
        let address = try ServerAddress(url)
        schema = address.schema
        store = try await PenstockStore.open(postgres: url)
        let policy = QueuePolicy(retry: RetryPolicy(base: .zero, cap: .zero))
        queue = try await store.queue("q", of: Int.self, policy: policy)
        server = try ServerConnection(address)
        table = "\(schema)_sale"
        try server.run("CREATE TABLE public.\(table) (item BIGINT)")
    }

    private func sales() throws -> [Int] {
        let rows = try server.run("SELECT item FROM public.\(table) ORDER BY item")
        return (0..<rows.rowCount).compactMap { Int(rows.text($0, 0)) }
    }

    private func steps(_ receipt: Receipt) async throws -> [String] {
        try await store.journal(of: receipt.sequence).steps.map(\.name.text)
    }

    private func attempt(_ handler: @escaping Worker<Int>.Handler) async throws {
        try await Worker(queue, options: .init(max: 1), handler: handler).run()
    }

    @Test func aStepAndItsRecordAreOneTransaction() async throws {
        let receipt = try await queue.enqueue(7)
        for isLast in [false, true] {
            try await attempt { [store, table] delivery in
                let given = try await store.transaction { transaction in
                    try delivery.step("sell", in: transaction) {
                        try transaction.execute("INSERT INTO \(table) VALUES ($1)", .integer(Int64(delivery.payload)))
                        return "sold"
                    }
                }
                #expect(given == "sold")
                if !isLast { throw Broken() }
            }
        }
        #expect(try sales() == [7])
        #expect(try await steps(receipt) == ["sell"])
        #expect(try await store.message(receipt.sequence).state == .done)
        try await store.close()
    }

    @Test func whatIsRolledBackIsTakenAgainUnderItsName() async throws {
        let receipt = try await queue.enqueue(7)
        try await attempt { [store, table] delivery in
            for isBroken in [true, false] {
                try? await store.transaction { transaction in
                    try delivery.step("sell", in: transaction) {
                        _ = try transaction.execute("INSERT INTO \(table) VALUES (1)")
                    }
                    if isBroken { throw Broken() }
                }
            }
            try await store.transaction { transaction in
                try transaction.execute("SAVEPOINT before")
                try delivery.step("more", in: transaction) {
                    _ = try transaction.execute("INSERT INTO \(table) VALUES (2)")
                }
                try transaction.execute("ROLLBACK TO before")
                for item in [3, 4] {
                    try delivery.step("more", in: transaction) {
                        _ = try transaction.execute("INSERT INTO \(table) VALUES (\(item))")
                    }
                }
            }
            // One that is no part of a transaction sees them as well.
            try await delivery.step("more") {}
        }
        #expect(try sales() == [1, 3, 4])
        #expect(try await steps(receipt) == ["sell", "more", "more#2", "more#3"])
        try await store.close()
    }

    @Test func withoutItsLeaseAStepComesToNothing() async throws {
        let receipt = try await queue.enqueue(7)
        try await attempt { [store, table] delivery in
            try await store.cancelNow([receipt.sequence])
            // The handler is cancelled as it loses its message, and a task of its own is not.
            let sale = Task {
                try await store.transaction { transaction in
                    try delivery.step("sell", in: transaction) {
                        _ = try transaction.execute("INSERT INTO \(table) VALUES (1)")
                    }
                }
            }
            let error = await #expect(throws: PenstockError.self) { try await sale.value }
            #expect(error?.code == .leaseLost)
        }
        #expect(try sales() == [])
        #expect(try await steps(receipt) == [])
        try await store.close()
    }

    @Test func aWorkflowBeginsWithTheTransactionThatStartsIt() async throws {
        var workflow = Workflow("w")
        let first = try workflow.add("first", 1, to: queue)
        try workflow.add("second", 2, to: queue, after: first)
        try? await store.transaction { [store, workflow] transaction in
            try store.start(workflow, in: transaction)
            throw Broken()
        }
        await #expect(throws: PenstockError.self) { try await store.workflow("w") }
        for isNew in [true, false] {
            let started = try await store.transaction { [store, workflow] in try store.start(workflow, in: $0) }
            #expect(started.isNew == isNew && started[first]?.state == .ready)
        }
        for isFirst in [true, false] {
            let told = try await store.transaction { [store] in
                try store.emit("go", "now", to: .workflow(WorkflowName("w")), in: $0)
            }
            #expect(told == isFirst)
        }
        try await Worker(queue, options: .init(drain: true)) { [store, queue] delivery in
            let word = try await delivery.event("go", as: String.self)
            var more = Workflow()
            if delivery.payload == 1 { try more.add("third", 3, to: queue) }
            try await store.transaction { [more] transaction in
                if more.tasks.isEmpty {
                    try delivery.done(result: word, in: transaction)
                } else {
                    try delivery.done(adding: more, in: transaction)
                }
            }
        }.run()
        #expect(try await store.tasks(of: "w").map(\.name.text) == ["first", "second", "third"])
        #expect(try await store.workflow("w").state == .done)
        #expect(try await store.result(of: "second", in: "w", as: String.self) == "now")
        try await store.close()
    }

    /// A store whose queues are on their way to another one takes nothing new; workers may end what they have.
    @Test func aStoreThatIsLeftTakesVerdictsAlone() async throws {
        try await queue.enqueue(1)
        var deliveries = queue.deliveries().makeAsyncIterator()
        let delivery = try #require(try await deliveries.next())
        try server.run("UPDATE \(schema).penstock_state SET moving = 'draining'")
        var started = Workflow("w")
        try started.add("first", 1, to: queue)
        let workflow = started
        for call in 0...2 {
            let error = await #expect(throws: PenstockError.self) {
                try await store.transaction { [store, queue] transaction in
                    switch call {
                    case 0: try queue.enqueue(2, in: transaction)
                    case 1: try store.start(workflow, in: transaction)
                    default: try store.emit("go", 1, to: .message(delivery.sequence), in: transaction)
                    }
                }
            }
            #expect(error?.code == .storeMoved, "call \(call)")
        }
        try await store.transaction { try delivery.done(in: $0) }
        #expect(try await queue.status().totals.done == 1)
        #expect(try await queue.status().totals.enqueued == 1)
    }

    @Test func anotherStoresTransactionIsRefused() async throws {
        let memory = PenstockStore(InMemoryStore())
        for call in 0...1 {
            let error = await #expect(throws: PenstockError.self) {
                try await store.transaction { [queue] transaction in
                    var workflow = Workflow("w")
                    try workflow.add("first", 1, to: queue)
                    if call == 0 {
                        try memory.start(workflow, in: transaction)
                    } else {
                        try memory.emit("go", 1, to: .workflow(WorkflowName("w")), in: transaction)
                    }
                }
            }
            #expect(error?.code == .invalidInput)
        }
        try await store.close()
    }
}
