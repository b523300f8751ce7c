import Penstock
import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Which calls wait for the server's disk: those that ask for it.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct AskedDurabilityTests {
    private let store: PostgresStore
    private let jobs: QueueName

    init() async throws {
        let shared = try await SharedSchema()
        (store, jobs) = (shared.store, shared.jobs)
    }

    /// What `body` gives, which must wait for so many flushes.
    private func waiting<T>(
        for flushes: Int, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> T
    ) async rethrows -> T {
        let before = store.timings.flush.count
        let value = try await body()
        #expect(store.timings.flush.count - before == flushes, sourceLocation: sourceLocation)
        return value
    }

    @Test func messagesWorkflowsAndEventsWaitForTheDiskWhereTheyAskForIt() async throws {
        func put(_ durability: Durability) async throws -> [Receipt] {
            try await store.enqueue([NewMessage(payload: [1])], to: jobs, durability: durability)
        }
        func start(_ name: String, _ durability: Durability) async throws -> StartedWorkflow {
            let task = NewTask(TaskName(stored: "t"), queue: jobs, message: NewMessage(payload: [1]))
            return try await store.start(
                NewWorkflow(WorkflowName(stored: name), tasks: [task]), durability: durability)
        }
        func emit(_ name: String, _ durability: Durability) async throws -> Bool {
            try await store.emit(
                NewEvent(EventName(name)), to: .workflow(WorkflowName(stored: "a")), durability: durability)
        }
        #expect(try await waiting(for: 0) { try await put(.processCrash) }.count == 1)
        #expect(try await waiting(for: 1) { try await put(.powerLoss) }.count == 1)
        #expect(try await waiting(for: 0) { try await start("a", .processCrash) }.isNew)
        #expect(try await waiting(for: 1) { try await start("b", .powerLoss) }.isNew)
        #expect(try await waiting(for: 0) { try await emit("x", .processCrash) })
        #expect(try await waiting(for: 1) { try await emit("y", .powerLoss) })
        // What is there already may never have been flushed.
        #expect(try await waiting(for: 1) { try await start("a", .powerLoss) }.isNew == false)
        #expect(try await waiting(for: 1) { try await emit("x", .powerLoss) } == false)
        try await store.close()
    }

    /// An application that says nothing has what it has opened its store with.
    @Test(
        arguments: [
            (Durability.powerLoss, nil, 1), (.powerLoss, .processCrash, 0), (.processCrash, nil, 0),
            (.processCrash, .powerLoss, 1),
        ] as [(Durability, Durability?, Int)])
    func aTransactionWaitsForTheDiskAsItsStoreDoes(
        _ opened: Durability, _ asked: Durability?, _ flushes: Int
    ) async throws {
        let application = PenstockStore(store, options: .init(durability: opened))
        #expect(try await waiting(for: flushes) { try await application.transaction(durability: asked) { _ in true } })
        let receipt = try await waiting(for: flushes) {
            try await application.transaction(durability: asked) { [jobs] in
                try $0.enqueue([NewMessage(payload: [1])], to: jobs)[0]
            }
        }
        #expect(receipt.durability == asked ?? opened)
        try await store.close()
    }
}
