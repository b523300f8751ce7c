import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockDashboard

/// History put back in line by a page: what was shown, and nothing else.
@Suite struct ReplayTests {
    /// A store with messages 1, 2, ... in the log of `log`, whose payloads are their numbers, and a queue `copy`.
    private func store(_ count: UInt8, copy: QueuePolicy = QueuePolicy()) async throws -> PenstockStore {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("log")
        _ = try await store.queue("copy", policy: copy)
        try await append(1...count, store)
        return store
    }

    private func append(_ numbers: ClosedRange<UInt8>, _ store: PenstockStore) async throws {
        _ = try await store.storage.append(
            numbers.map { NewMessage(payload: [$0]) }, to: QueueName("log"), unless: nil, durability: .powerLoss)
    }

    /// The payloads of what was put in line.
    private func copies(_ store: PenstockStore) async throws -> [[UInt8]?] {
        try await store.list(MessageQuery(queue: QueueName("copy"), withPayload: true)).records.map(\.payload)
    }

    private func form(_ server: TestServer, _ query: String) async throws -> [String: String] {
        let page = try await server.page("/queues/log/replay?\(query)")
        return try #require(page.forms(to: "/queues/log/replay").first { $0["messages"] != nil })
    }

    @Test func whatWasShownIsReplayedWhateverHasComeSince() async throws {
        let store = try await store(5)
        try await TestServer.run(store: store) { server in
            let form = try await form(server, "count=2&state=done&into=copy")
            #expect(form == ["messages": "4-5", "state": "done", "into": "copy"])
            // By now the last two are others.
            try await append(6...9, store)
            #expect(try await server.submit("/queues/log/replay", form).said == "2 messages replayed into 'copy'.")
            #expect(try await copies(store) == [[4], [5]])
        }
    }

    @Test func whatIsNotInThatStateAnyMoreIsLeftOut() async throws {
        let store = try await store(1)
        try await store.putDeadLetters(in: "log", ["no host", "no time"])
        try await TestServer.run(store: store) { server in
            let form = try await form(server, "state=dead&into=copy")
            #expect(form["messages"] == "2-3")
            _ = try await store.storage.apply(.redrive, to: [SequenceNumber(2)])
            let done = try await server.submit("/queues/log/replay", form)
            #expect(done.said?.hasPrefix("1 message replayed into 'copy'. The others") == true)
            #expect(try await copies(store) == [Array("no time".utf8)])
        }
    }

    @Test func noOtherQueuesMessagesAreReplayed() async throws {
        let store = try await store(2)
        try await store.queue("secret").enqueue([9])
        let tokens = try Tokens("log 0123456789abcdef read,operate log")
        try await TestServer.run(store: store, tokens: tokens) { server in
            let cookie = ["Cookie": "penstock_token=0123456789abcdef"]
            let done = try await server.submit("/queues/log/replay", ["messages": "1-3"], headers: cookie)
            #expect(done.said?.hasPrefix("2 messages replayed into 'log'.") == true)
        }
    }

    /// By a page as by JSON: what is moved by hand asks for no other right than to operate both queues.
    @Test func aReplayIsForOperatorsOfBothQueues() async throws {
        let store = try await store(2)
        let tokens = try Tokens(
            """
            ops   0123456789abcdef-ops   read,operate
            log   0123456789abcdef-log   read,operate  log
            shop  0123456789abcdef-shop  read,produce
            """)
        try await TestServer.run(store: store, tokens: tokens) { server in
            for (name, isAllowed) in [("ops", true), ("log", false), ("shop", false)] {
                let token = "0123456789abcdef-\(name)"
                let cookie = ["Cookie": "penstock_token=\(token)"]
                let page = try await server.page("/queues/log/replay?count=1&into=copy", headers: cookie)
                let forms = page.forms(to: "/queues/log/replay").filter { $0["messages"] != nil }
                #expect(forms.count == (isAllowed ? 1 : 0), "\(name)")
                let byPage = try await server.submit(
                    "/queues/log/replay", ["messages": "2", "into": "copy"], headers: cookie)
                #expect(byPage.status == (isAllowed ? 303 : 403), "\(name)")
                let byJSON = try await server.showing(token).send(
                    "POST", "/v1/queues/log/replay", #"{"from": 2, "into": "copy"}"#)
                #expect(byJSON.status == (isAllowed ? 200 : 403), "\(name)")
            }
        }
        #expect(try await copies(store) == [[2], [2]])
    }

    /// A queue that is full makes a replay wait; for a visitor whose token is taken back meanwhile it puts nothing in line.
    @Test(.timeLimit(.minutes(5))) func aReplayThatWaitsForRoomEndsWithItsToken() async throws {
        let store = try await store(1, copy: QueuePolicy(capacity: Capacity(1, whenFull: .wait)))
        let copy = try await store.queue("copy")
        try await copy.enqueue([9])
        let tokens = try Tokens("log 0123456789abcdef read,produce,operate\nother fedcba9876543210 read")
        try await TestServer.run(store: store, tokens: tokens) { server in
            async let waiting = server.submit(
                "/queues/log/replay", ["messages": "1", "into": "copy"],
                headers: ["Cookie": "penstock_token=0123456789abcdef"])
            try await store.storage.changes.waitForWaiters(count: 1)
            tokens.become(try Tokens("other fedcba9876543210 read"))
            let claim = try await store.storage.claim(ClaimRequest(queue: copy.name, limit: 1, lease: .seconds(60)))
            _ = try await store.storage.settle(claim.messages.map { Settlement($0.lease, .done) })
            let answer = try await waiting
            #expect(answer.status == 401 && answer.text.contains("cut short"))
        }
        #expect(try await copies(store) == [[9]])
    }

    /// A queue that is full makes a replay wait; the server does not wait for it when it is to stop.
    @Test func aReplayThatWaitsForRoomEndsWithTheServer() async throws {
        let store = try await store(1, copy: QueuePolicy(capacity: Capacity(1, whenFull: .wait)))
        try await store.queue("copy").enqueue([9])
        let (answers, continuation) = AsyncStream.makeStream(of: TestResponse?.self)
        try await TestServer.run(store: store, finishTime: .seconds(60), cancelTime: .seconds(90)) { server in
            Task {
                continuation.yield(
                    try? await server.submit("/queues/log/replay", ["messages": "1", "into": "copy"]))
            }
            // The act is written down before it begins.
            try await eventually {
                try await store.queues().contains { $0.name == Audit.queue && $0.totals.enqueued == 1 }
            }
        }
        var iterator = answers.makeAsyncIterator()
        let answer = await iterator.next() ?? nil
        #expect(answer?.status == 504 && answer?.text.contains("cut short") == true)
        #expect(try await copies(store) == [[9]])
    }
}
