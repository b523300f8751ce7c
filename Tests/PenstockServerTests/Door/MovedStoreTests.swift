import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockDashboard

/// A store whose queues move away: supervisors, programs and people see it.
@Suite(.timeLimit(.minutes(5))) struct MovedStoreTests {
    /// A store that says that its queues move.
    private struct Moved: ForwardingStore {
        let base: any MessageStore
        let move: StoreMove

        init(_ phase: StoreMove.Phase, to target: String = "new.db") {
            base = TestDatabase().open()
            move = StoreMove(phase: phase, source: "old.db", target: target)
        }

        func status(of queue: QueueName?) async throws -> StoreStatus {
            var status = try await base.status(of: queue)
            status.move = move
            return status
        }

        func storeMove() async throws -> StoreMove? { move }
    }

    /// Workers have to reach the server for as long as they may settle.
    @Test(arguments: [(StoreMove.Phase.draining, 200), (.copying, 503), (.moved, 503)])
    func itIsNotReadyOnceNothingCanBeDone(_ phase: StoreMove.Phase, _ status: Int) async throws {
        let key = "0123456789abcdef"
        let store = PenstockStore(Moved(phase, to: "secret.db"))
        try await TestServer.run(store: store, tokens: try Tokens("a \(key) read")) { server in
            let answer = try await server.request("GET", "/readyz")
            #expect(answer.status == status)
            #expect(try await server.request("GET", "/healthz").status == 200)
            guard status == 503 else { return }
            #expect(try answer.json()["code"] as? String == "storeMoved")
            #expect(try (answer.json()["detail"] as? String)?.contains("to another store: nothing is taken") == true)
            #expect(!answer.text.contains("secret.db"), "Whoever asks shows no token.")
        }
    }

    @Test func programsSeeIt() async throws {
        try await TestServer.run(store: PenstockStore(Moved(.copying))) { server in
            let move = try await server.request("GET", "/v1/queues").json()["move"] as? [String: String]
            #expect(move == ["phase": "copying", "source": "old.db", "target": "new.db"])
            #expect(try await server.request("GET", "/metrics").text.contains("\npenstock_store_moved 1\n"))
        }
        try await TestServer.run { server in
            let queues = try await server.request("GET", "/v1/queues").json()
            #expect(queues.keys.sorted() == ["queues"])
            #expect(try await server.request("GET", "/metrics").text.contains("\npenstock_store_moved 0\n"))
        }
    }

    /// Where a store was moved to is text that somebody has given.
    @Test func eachPageSaysItAndDoesNothingElse() async throws {
        let store = PenstockStore(Moved(.moved, to: "<img src=x>\u{202E}.db"))
        _ = try await store.queue("q", of: [UInt8].self)
        try await TestServer.run(store: store) { server in
            let sections = ["dead", "messages", "workers", "schedules", "workflows", "audit", "doctor"]
            let words = "role=\"alert\">The queues have moved to &lt;img src=x&gt;\\u{202E}.db: nothing is taken"
            for path in ["/", "/queues/q"] + sections.map({ "/\($0)" }) {
                let page = try await server.page(path)
                #expect(page.status == 200, "\(path)")
                #expect(page.text.contains(words), "\(path)")
            }
        }
        try await TestServer.run { server in
            let page = try await server.page("/").text
            #expect(!page.contains("role=\"alert\""))
        }
    }

    /// A visitor who has shown no token learns nothing of the store.
    @Test func whoSignsInIsNotToldBefore() async throws {
        let tokens = try Tokens("a 0123456789abcdef read")
        try await TestServer.run(store: PenstockStore(Moved(.moved)), tokens: tokens) { server in
            let page = try await server.page("/login").text
            #expect(!page.contains("new.db") && page.contains("token"))
        }
    }
}
