import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct EnqueueTests {
    @Test func headersSayWhatTheMessageIs() async throws {
        try await TestServer.onFile(queues: ["q": QueuePolicy(groups: .fifo())]) { server in
            let response = try await server.send(
                "POST", "/v1/queues/q/messages", "hello",
                headers: [
                    "Penstock-Priority": "5", "Penstock-Delay": "1h", "Penstock-Key": "k", "Penstock-Key-Scope": "2h",
                    "Penstock-If-Exists": "replace", "Penstock-Group": "ada", "Penstock-Expires": "2h",
                    "Penstock-Attempts": "3", "Penstock-Kind": "welcome", "Penstock-Durability": "processCrash",
                    "Penstock-Header-Trace-Id": "42", "Content-Type": "text/plain", "traceparent": "00-1-2-01",
                    "ce-subject": "caf%C3%A9", "User-Agent": "nobody's business",
                ])
            #expect(response.status == 201)
            let receipt = try response.json()
            #expect(receipt["state"] as? String == "scheduled")
            #expect(receipt["durability"] as? String == "processCrash")
            #expect(receipt["skipped"] as? Bool == false)
            let message = try await server.show(1)
            #expect(message["payload"] as? String == "hello")
            #expect(message["priority"] as? Int == 5)
            #expect(message["attemptsMax"] as? Int == 3)
            #expect(message["uniqueKey"] as? String == "k")
            #expect(message["keyScope"] as? String == "period")
            #expect(message["group"] as? String == "ada")
            #expect(message["expiresAt"] is String)
            #expect(
                message["headers"] as? [String: String] == [
                    "content-type": "text/plain", "traceparent": "00-1-2-01", "ce-subject": "café",
                    "penstock-kind": "welcome", "trace-id": "42",
                ])
            let skipped = try await server.send(
                "POST", "/v1/queues/q/messages", "again", headers: ["Penstock-Key": "k"])
            #expect(skipped.status == 200)
            #expect(try skipped.json()["skipped"] as? Bool == true)
        }
    }

    /// SwiftNIO makes U+FFFD of what it cannot read: two keys would be one, and the second message not enqueued.
    @Test(arguments: [
        "Penstock-Key", "Penstock-Group", "Penstock-Kind", "Penstock-Header-Who", "Content-Type", "ce-subject",
        "traceparent", "tracestate", "baggage", "Idempotency-Key",
    ])
    func aHeaderThatIsNotUTF8IsRefused(name: String) async throws {
        try await TestServer.inMemory { server in
            let fields = "Host: localhost\r\n\(name): Müller\r\nContent-Length: 1"
            let head = "POST /v1/queues/q/messages HTTP/1.1\r\n\(fields)\r\n\r\n"
            let refused = try await server.client().answer(inLatin1: head, body: "x")
            #expect(refused.hasPrefix("HTTP/1.1 400 "), "\(refused)")
            #expect(name == "Idempotency-Key" || refused.contains("'\(name.lowercased())' is not UTF-8."), "\(refused)")
            try await server.put("x", headers: ["Penstock-Key": "Müller", "Penstock-Header-Who": "Zoë"])
            #expect(try await server.depths()["ready"] == 1)
            #expect(try await server.show(1)["uniqueKey"] as? String == "Müller")
        }
    }

    @Test func whatCurlSaysOfEveryBodyIsNoHeader() async throws {
        try await TestServer.inMemory { server in
            let sequence = try await server.put(
                "x", headers: ["Content-Type": "application/x-www-form-urlencoded"])
            #expect(try await server.show(sequence)["headers"] as? [String: String] == [:])
        }
    }

    @Test(arguments: [
        ["Penstock-Prioritty": "5"], ["Penstock-Priority": "high"], ["Penstock-Priority": "101"],
        ["Penstock-Delay": "soon"], ["Penstock-Delay": "1s", "Penstock-At": "+1s"], ["Penstock-At": "noon"],
        ["Penstock-Key-Scope": "1h"], ["Penstock-Key": "k", "Penstock-If-Exists": "shout"],
        ["Penstock-Key": "k", "Idempotency-Key": "i"], ["Penstock-Group": "g"], ["Penstock-Durability": "eternal"],
        ["Penstock-Attempts": "0"], ["Penstock-Kind": "a,b"], ["Idempotency-Key": "two words"],
    ])
    func refusesWhatCannotBe(headers: [String: String]) async throws {
        try await TestServer.inMemory { server in
            let response = try await server.send("POST", "/v1/queues/q/messages", "x", headers: headers)
            #expect(response.status == 400)
            #expect(response.code == "invalidInput")
            #expect(try await server.depths()["ready"] == 0)
        }
    }

    @Test func aRetriedRequestGivesTheSameAnswer() async throws {
        try await TestServer.onFile { server in
            let headers = ["Idempotency-Key": "\"8e03978e\""]
            let first = try await server.send("POST", "/v1/queues/q/messages", "pay", headers: headers)
            // Also after the message has ended.
            let message = try #require(try await server.claim().first)
            let settled = try await server.send("POST", "/v1/settlements", "[{\(message.lease),\"verdict\":\"done\"}]")
            #expect(settled.status == 200)
            let second = try await server.send("POST", "/v1/queues/q/messages", "pay", headers: headers)
            #expect(first.status == 201)
            #expect(second.status == 201)
            #expect(first.header("Idempotent-Replayed") == nil)
            #expect(second.header("Idempotent-Replayed") == "true")
            #expect(try second.json()["sequence"] as? Int == 1)
            #expect(try second.json()["skipped"] as? Bool == false)
            let other = try await server.send("POST", "/v1/queues/q/messages", "pay twice", headers: headers)
            #expect(other.status == 422)
            #expect(other.code == "idempotencyKeyReused")
            #expect(try await server.depths() == ["kept": 1, "ready": 0].merging(Self.none) { first, _ in first })
            // It is forgotten, and nobody knows any more whether it was done.
            _ = try await server.store.prune(queue: nil, retention: Retention(age: .zero))
            let third = try await server.send("POST", "/v1/queues/q/messages", "pay", headers: headers)
            #expect(third.status == 201 && third.header("Idempotent-Replayed") == "true")
            #expect(third.text.contains("\"state\":null"))
        }
    }

    /// That of a message, and those of the lines of a body.
    @Test(
        arguments: [
            ("text/plain", "pay", "Idempotent-Replayed"), ("application/x-ndjson", #"{"payload":"pay"}"#, nil),
        ] as [(String, String, String?)])
    func aKeyIsGoodForADay(type: String, body: String, header: String?) async throws {
        let time = ManualTime()
        let store = PenstockStore(InMemoryStore(time: time), options: .init(time: time))
        _ = try await store.queue("q")
        try await TestServer.run(store: store) { server in
            func isReplayed() async throws -> Bool {
                let response = try await server.send(
                    "POST", "/v1/queues/q/messages", body, headers: ["Idempotency-Key": "k", "Content-Type": type])
                #expect([200, 201].contains(response.status), "\(response.text)")
                if let header { return response.header(header) == "true" }
                return response.text.contains("\"replayed\":true")
            }
            let isFirst = try await !isReplayed()
            #expect(isFirst)
            time.advance(by: .seconds(24 * 3600 - 1))
            #expect(try await isReplayed())
            #expect(try await server.depths()["ready"] == 1)
            time.advance(by: .seconds(2))
            #expect(try await !isReplayed())
            #expect(try await server.depths()["ready"] == 2)
        }
    }

    private static let none = ["pending": 0, "scheduled": 0, "blocked": 0, "leased": 0, "dead": 0]

    @Test(arguments: [OverflowPolicy.wait, .fail])
    func aFullQueueSaysWhenToComeBack(whenFull: OverflowPolicy) async throws {
        try await TestServer.inMemory(queues: ["q": QueuePolicy(capacity: Capacity(1, whenFull: whenFull))]) { server in
            try await server.put("first")
            let full = try await server.send("POST", "/v1/queues/q/messages", "second")
            #expect(full.status == 429)
            #expect(full.code == "queueFull")
            #expect(full.header("Retry-After") == "1")
        }
    }

    @Test func aProducerWaitsForRoom() async throws {
        try await TestServer.onFile(queues: ["q": QueuePolicy(capacity: Capacity(1, whenFull: .wait))]) { server in
            try await server.put("first")
            let full = try await server.send("POST", "/v1/queues/q/messages?wait=50ms", "second")
            #expect(full.status == 429)
            async let waiting = server.send("POST", "/v1/queues/q/messages?wait=60s", "second")
            try await server.store.storage.changes.waitForWaiters(count: 1)
            _ = try await server.claim()
            #expect(try await waiting.status == 201)
        }
    }

    @Test func aPayloadIsAnyBytesUpToItsBound() async throws {
        try await TestServer.inMemory { server in
            let large = Data(repeating: 0xFF, count: Limits.payloadBytesMax)
            let response = try await server.request("POST", "/v1/queues/q/messages", body: large)
            #expect(response.status == 201)
            let payload = try await server.request("GET", "/v1/messages/1/payload")
            #expect(payload.body == large)
            let tooLarge = try await server.request("POST", "/v1/queues/q/messages", body: large + [0])
            #expect(tooLarge.status == 413)
            #expect(tooLarge.code == "tooLarge")
        }
    }

    @Test func anUnknownQueueOrParameterIsSaidSo() async throws {
        try await TestServer.inMemory { server in
            for (path, status) in [("none/messages", 404), ("q/messages?wiat=1s", 400), ("q/messages?wait=61s", 400)] {
                let response = try await server.send("POST", "/v1/queues/\(path)", "x")
                #expect(response.status == status, "\(path)")
            }
        }
    }
}
