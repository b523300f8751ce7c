import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

/// What a token for some queues is told of why its messages wait.
@Suite(.timeLimit(.minutes(5))) struct WhyTests {
    private let token = "0123456789abcdef-mail"
    private let mail = QueueName(stored: "mail")
    private let other = QueueName(stored: "other")

    /// A task of `mail` waits for one of its own queue, and for one of another's that a worker has: of that it hears only that it is.
    @Test func tasksInOtherQueuesAreLeftOut() async throws {
        let store = PenstockStore(TestDatabase().open())
        for queue in [mail, other] { _ = try await store.queue(queue.text) }
        let tasks = try ["public", "secret"].map { try TaskName($0) }
        let waiting = NewTask(
            TaskName(stored: "last"), queue: mail, message: NewMessage(payload: [1]),
            dependencies: tasks.map { Dependency(on: $0) })
        let workflow = NewWorkflow(
            WorkflowName(stored: "w"),
            tasks: zip(tasks, [mail, other]).map { NewTask($0, queue: $1, message: NewMessage(payload: [1])) } + [
                waiting
            ])
        _ = try await store.storage.start(workflow, durability: .powerLoss)
        _ = try await store.storage.claim(ClaimRequest(queue: other, limit: 1, lease: .seconds(30)))
        try await ask(store, about: 3) { all, some, page in
            #expect(all.contains("secret") && all.contains("public"))
            #expect(some.contains(#""task":"public""#) && some.contains(#""cause":"moreTasks""#))
            #expect(!some.contains("secret"), "\(some)")
            #expect(page.contains("the task public") && page.contains("It waits for more tasks than these."))
            #expect(!page.contains("secret"))
        }
    }

    /// How many messages of other queues have a shared limit is nobody's business.
    @Test func aSharedLimitIsUsedUpAndNoMore() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await store.storage.setLimit(LimitName("gpu"), to: 7)
        for queue in [mail, other] {
            _ = try await store.queue(queue.text)
            try await store.storage.configure(
                queue, .set(QueuePolicy(sharedLimit: LimitName(stored: "gpu")), replacing: nil))
        }
        _ = try await store.storage.enqueue(
            (0..<7).map { NewMessage(payload: [$0]) }, to: other, durability: .powerLoss)
        _ = try await store.storage.claim(ClaimRequest(queue: other, limit: 7, lease: .seconds(30)))
        try await store.storage.setLimit(LimitName("gpu"), to: 2)
        _ = try await store.storage.enqueue([NewMessage(payload: [1])], to: mail, durability: .powerLoss)
        try await ask(store, about: 8) { all, some, page in
            #expect(all.contains(#""count":2,"leased":7"#), "\(all)")
            #expect(some.contains(#""count":2,"leased":2"#), "\(some)")
            #expect(page.contains("The limit gpu of 2 is used up: 2 are with workers."))
        }
    }

    /// Calls `body` with what a token for all queues and one for `mail` are told, and with the second one's page of the message.
    private func ask(
        _ store: PenstockStore, about sequence: Int, _ body: @escaping @Sendable (String, String, String) throws -> Void
    ) async throws {
        let tokens = try Tokens("all 0123456789abcdef-all read\nmail \(token) read mail")
        try await TestServer.run(store: store, tokens: tokens) { [token] server in
            func why(_ token: String) async throws -> String {
                try await server.send(
                    "GET", "/v1/messages/\(sequence)/why", headers: ["Authorization": "Bearer \(token)"]
                ).text
            }
            let page = try await server.page("/messages/\(sequence)", headers: ["Cookie": "penstock_token=\(token)"])
            try body(try await why("0123456789abcdef-all"), try await why(token), page.text)
        }
    }
}
