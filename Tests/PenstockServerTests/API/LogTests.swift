import Foundation
import Logging
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct LogTests {
    @Test func theLogIsLinesOfJSON() async throws {
        try await TestServer.onFile { server in
            for text in ["1", "2", "3"] { try await server.put(text, headers: ["Penstock-Header-A": text]) }
            let all = try await server.send("GET", "/v1/queues/q/log")
            #expect(all.header("Content-Type") == "application/x-ndjson")
            #expect(all.header("X-Accel-Buffering") == "no")
            #expect(try all.lines().map { $0["payload"] as? String } == ["1", "2", "3"])
            #expect(try all.lines().map { $0["headers"] as? [String: String] } == [["a": "1"], ["a": "2"], ["a": "3"]])
            for (query, payloads) in [
                ("after=1", ["2", "3"]), ("last=1", ["3"]), ("last=0", []), ("limit=2", ["1", "2"]), ("after=9", []),
            ] {
                let some = try await server.send("GET", "/v1/queues/q/log?\(query)")
                #expect(try some.lines().map { $0["payload"] as? String } == payloads, "\(query)")
            }
            #expect(try await server.send("GET", "/v1/queues/none/log").status == 404)
            for query in ["after=1&last=1", "limit=0", "after=-1", "last=10001", "follow=perhaps"] {
                #expect(try await server.send("GET", "/v1/queues/q/log?\(query)").status == 400, "\(query)")
            }
        }
    }

    @Test func manyPagesAreOneAnswer() async throws {
        try await TestServer.inMemory { server in
            let queue = try await server.store.queue("q")
            try await queue.enqueue((1...2500).map { NewMessage(payload: Array("\($0)".utf8)) })
            let all = try await server.send("GET", "/v1/queues/q/log")
            #expect(try all.lines().map { $0["sequence"] as? Int } == Array(1...2500))
        }
    }

    @Test func aFollowerGetsEachMessageAsItComes() async throws {
        try await TestServer.onFile { server in
            try await server.put("before")
            let client = try server.client()
            try client.request("GET", "/v1/queues/q/log?follow=true")
            var seen = try await client.receive(until: "before")
            for text in ["first", "second"] {
                try await server.store.storage.changes.waitForWaiters(count: 1)
                try await server.put(text)
                seen = try await client.receive(until: text)
                #expect(seen.contains(text))
            }
        }
    }

    @Test func eventsGoOnAfterTheLastOneThatWasHad() async throws {
        try await TestServer.onFile { server in
            for text in ["1", "2", "3"] { try await server.put(text) }
            let client = try server.client()
            try client.request(
                "GET", "/v1/queues/q/log?last=1&follow=true",
                headers: ["Accept": "text/event-stream", "Last-Event-ID": "1"])
            let events = try await client.receive(until: "id: 3")
            #expect(
                events.contains("content-type: text/event-stream") || events.contains("Content-Type: text/event-stream")
            )
            #expect(events.contains(":\n\n"))
            #expect(events.contains("id: 2\ndata: {\"sequence\":2,"))
            #expect(!events.contains("id: 1\n"))
            let wrong = try await server.send(
                "GET", "/v1/queues/q/log", headers: ["Accept": "text/event-stream", "Last-Event-ID": "x"])
            #expect(wrong.status == 400)
        }
    }

    @Test(arguments: ["text/event-stream;q=0, */*", "text/event-stream; charset=utf-8; q=0.000"])
    func whoWantsNoEventsGetsLines(_ accept: String) async throws {
        try await TestServer.onFile { server in
            try await server.put("1")
            let log = try await server.send("GET", "/v1/queues/q/log", headers: ["Accept": accept])
            #expect(log.status == 200)
            #expect(log.text.hasPrefix("{\"sequence\":1,"), "\(log.text)")
        }
    }

    @Test func aFollowerThatHangsUpIsForgotten() async throws {
        try await TestServer.onFile { server in
            let changes = server.store.storage.changes
            let client = try server.client()
            try client.request("GET", "/v1/queues/q/log?follow=true", headers: ["Accept": "text/event-stream"])
            try await changes.waitForWaiters(count: 1)
            client.hangUp()
            try await eventuallyNobodyWaits(changes)
        }
    }

    private func eventuallyNobodyWaits(_ changes: Wakeups) async throws {
        try await eventually { changes.waiterCount == 0 }
    }

    @Test func cursorsKeepAPlace() async throws {
        try await TestServer.onFile { server in
            for text in ["1", "2", "3"] { try await server.put(text) }
            let path = "/v1/queues/q/cursors/copy"
            #expect(try await server.send("GET", path).status == 404)
            let placed = try await server.send("PUT", path, #"{"after":1,"note":"to the warehouse"}"#)
            #expect(placed.status == 200)
            #expect(try placed.json()["after"] as? Int == 1)
            // A client that heard no answer asks again.
            for _ in 1...2 {
                #expect(try await server.send("PUT", path, #"{"after":3,"missed":1}"#).json()["after"] as? Int == 3)
            }
            let back = try await server.send("PUT", path, #"{"after":2}"#).json()
            #expect(back["after"] as? Int == 3)
            #expect(back["missed"] as? Int == 1)
            #expect(back["note"] as? String == "to the warehouse")
            #expect(try await server.send("PUT", path, #"{"after":99}"#).status == 400)
            let all = try await server.send("GET", "/v1/queues/q/cursors").json()["cursors"] as? [[String: Any]]
            #expect(all?.map { $0["cursor"] as? String } == ["copy"])
            #expect(try await server.send("DELETE", path).status == 204)
            #expect(try await server.send("GET", path).status == 404)
            // Without a place it is at the end.
            #expect(try await server.send("PUT", path).json()["after"] as? Int == 3)
        }
    }

    /// Clients and proxies make a PUT again by themselves when its answer was lost.
    @Test func aCursorThatIsPutAgainIsAsItWas() async throws {
        try await TestServer.onFile { server in
            for text in ["1", "2", "3"] { try await server.put(text) }
            let path = "/v1/queues/q/cursors/copy"
            for (body, missed) in [(#"{"after":1,"missed":5}"#, 0), (#"{"after":3,"missed":2}"#, 2)] {
                let first = try await server.send("PUT", path, body)
                #expect(first.status == 200)
                #expect(try first.json()["missed"] as? Int == missed)
                #expect(try await server.send("PUT", path, body).text == first.text)
            }
            #expect(try await server.send("PUT", path, #"{"after":2,"missed":2}"#).json()["missed"] as? Int == 2)
        }
    }

    @Test func historyIsReplayed() async throws {
        try await TestServer.onFile(queues: ["q": QueuePolicy(), "again": QueuePolicy()]) { server in
            for text in ["1", "2", "3"] { try await server.put(text) }
            for message in try await server.claim(#"{"limit":3}"#) {
                _ = try await server.send("POST", "/v1/settlements", #"[{\#(message.lease),"verdict":"done"}]"#)
            }
            let path = "/v1/queues/q/replay"
            let dry = try await server.send("POST", path, #"{"from":2,"dryRun":true}"#)
            #expect(try dry.json()["wouldReplay"] as? Int == 2)
            let done = try await server.send("POST", path, #"{"last":2,"into":"again"}"#)
            #expect(try done.json()["replayed"] as? Int == 2)
            let again = try await server.claim(#"{"limit":5}"#, from: "again")
            #expect(again.map { $0["origin"] as? Int } == [2, 3])
            for body in ["{}", #"{"from":0}"#, #"{"from":1,"states":["merry"]}"#, #"{"last":0}"#, #"{"since":"noon"}"#]
            {
                #expect(try await server.send("POST", path, body).status == 400, "\(body)")
            }
            #expect(try await server.send("POST", path, #"{"from":1,"into":"none"}"#).status == 404)
        }
    }

    private let full = QueueName(stored: "full")

    /// A store with a message in the log of `q`, and a queue `full` that is full, for which producers wait.
    private func storeWithFullQueue() async throws -> PenstockStore {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("q")
        _ = try await store.queue("full", policy: QueuePolicy(capacity: Capacity(1, whenFull: .wait)))
        for queue in [QueueName(stored: "q"), full] {
            _ = try await store.storage.enqueue([NewMessage(payload: [1])], to: queue, durability: .processCrash)
        }
        try await finishOne(of: QueueName(stored: "q"), store)
        return store
    }

    private func finishOne(of queue: QueueName, _ store: PenstockStore) async throws {
        let claim = try await store.storage.claim(ClaimRequest(queue: queue, limit: 1, lease: .seconds(60)))
        _ = try await store.storage.settle(claim.messages.map { Settlement($0.lease, .done) })
    }

    /// A replay waits for room. Should its token be taken back meanwhile, it ends, and says what became of it.
    @Test func aReplayEndsWithItsToken() async throws {
        let store = try await storeWithFullQueue()
        let tokens = try Tokens("a 0123456789abcdef operate\nother 0123456789abcdefg read")
        try await TestServer.run(store: store, tokens: tokens) { server in
            async let waiting = server.showing("0123456789abcdef").send(
                "POST", "/v1/queues/q/replay", #"{"from":1,"into":"full"}"#)
            try await store.storage.changes.waitForWaiters(count: 1)
            tokens.become(try Tokens("other 0123456789abcdefg read"))
            try await finishOne(of: full, store)
            let answer = try await waiting
            #expect(answer.status == 401 && answer.code == "unauthorized")
            #expect(answer.text.contains("cut short"), "\(answer.text)")
        }
        #expect(try await store.storage.status(of: full).queues.first?.depths.waiting == 0)
    }

    /// A replay waits for room. Should its client go meanwhile, it ends, and the server has not failed.
    @Test func aReplayEndsWithItsClient() async throws {
        let log = TestLog(from: .warning)
        let store = try await storeWithFullQueue()
        try await TestServer.run(store: store, logger: log.logger) { server in
            let changes = store.storage.changes
            let client = try server.client()
            try client.request("POST", "/v1/queues/q/replay", body: #"{"from":1,"into":"full"}"#)
            try await changes.waitForWaiters(count: 1)
            client.hangUp()
            try await eventually { changes.waiterCount == 0 }
        }
        #expect(log.lines.isEmpty)
        #expect(try await store.storage.status(of: full).queues.first?.depths.waiting == 1)
    }

    /// Some of it may be in line. 503 is what proxies and libraries send again by themselves, and it would be there twice.
    @Test func aReplayThatEndsWithTheServerHasNoKnownOutcome() async throws {
        let store = try await storeWithFullQueue()
        let (answers, continuation) = AsyncStream.makeStream(of: TestResponse?.self)
        try await TestServer.run(store: store, finishTime: .seconds(60), cancelTime: .seconds(90)) { server in
            Task {
                continuation.yield(
                    try? await server.send("POST", "/v1/queues/q/replay", #"{"from":1,"into":"full"}"#))
            }
            try await store.storage.changes.waitForWaiters(count: 1)
        }
        var iterator = answers.makeAsyncIterator()
        let answer = await iterator.next() ?? nil
        #expect(answer?.status == 504 && answer?.code == "outcomeUnknown")
    }
}
