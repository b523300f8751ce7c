import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct MessageReadingTests {
    @Test func messagesAreListedPageByPage() async throws {
        try await TestServer.onFile { server in
            for text in ["1", "2", "3"] { try await server.put(text) }
            let first = try await server.send("GET", "/v1/queues/q/messages?limit=2").json()
            #expect((first["messages"] as? [[String: Any]])?.map { $0["sequence"] as? Int } == [1, 2])
            #expect(first["next"] as? Int == 2)
            let second = try await server.send("GET", "/v1/queues/q/messages?after=2&payload=true").json()
            #expect((second["messages"] as? [[String: Any]])?.map { $0["payload"] as? String } == ["3"])
            #expect(second["next"] is NSNull)
            let back = try await server.send("GET", "/v1/queues/q/messages?last=1&preceding=3").json()
            #expect((back["messages"] as? [[String: Any]])?.map { $0["sequence"] as? Int } == [2])
            #expect(back["next"] as? Int == 2)
            let found = try await server.send("GET", "/v1/queues/q/messages?payloadContains=2").json()
            #expect((found["messages"] as? [[String: Any]])?.map { $0["sequence"] as? Int } == [2])
            let some = try await server.send("GET", "/v1/queues/q/messages?state=ready,dead&last=1").json()
            #expect((some["messages"] as? [[String: Any]])?.map { $0["sequence"] as? Int } == [3])
            for query in [
                "state=happy", "limit=0", "limit=1001", "limit=1&last=1", "after=-1", "since=noon", "x=1",
                "preceding=2", "header=x", "key=%ff", "key=%C3&group=%A9",
            ] {
                #expect(try await server.send("GET", "/v1/queues/q/messages?\(query)").status == 400, "\(query)")
            }
        }
    }

    @Test(arguments: [
        "GET /v1/queues/q/messages?key=ü", "GET /v1/queues/ü", "POST /v1/queues/ü/messages",
    ])
    func aPathThatIsNotUTF8IsRefused(line: String) async throws {
        try await TestServer.inMemory(queues: ["q": QueuePolicy(), "\u{FFFD}": QueuePolicy()]) { server in
            let head = "\(line) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
            let refused = try await server.client().answer(inLatin1: head)
            #expect(refused.hasPrefix("HTTP/1.1 400 "), "\(refused)")
        }
    }

    @Test func aMessageIsShownWithAllThatItLeft() async throws {
        try await TestServer.onFile { server in
            let sequence = try await server.put("x")
            let message = try #require(try await server.claim(#"{"worker":"phone"}"#).first)
            let held = try await server.show(sequence)
            let claimedAt = try #require(held["claimedAt"] as? String)
            let leaseEndsAt = try #require(held["leaseEndsAt"] as? String)
            #expect(leaseEndsAt > claimedAt)
            _ = try await server.send(
                "POST", "/v1/settlements", #"[{\#(message.lease),"verdict":"dead","error":"never"}]"#)
            let shown = try await server.show(sequence)
            #expect(shown["leaseEndsAt"] is NSNull)
            #expect(shown["state"] as? String == "dead")
            let attempts = shown["attempts"] as? [[String: Any]]
            #expect(attempts?.map { $0["error"] as? String } == ["never"])
            #expect(attempts?.map { $0["worker"] as? String } == ["phone"])
            #expect(shown["steps"] is [Any])
            #expect(try await server.send("GET", "/v1/messages/99").status == 404)
            #expect(try await server.send("GET", "/v1/messages/first").status == 400)
        }
    }

    /// Each of these characters is six in JSON, and not all of them are in memory at once.
    @Test func aLargeMessageIsWrittenInParts() async throws {
        try await TestServer.inMemory { server in
            for (count, isWhole) in [(1000, true), (1_000_000, false)] {
                let payload = String(repeating: "\u{1}", count: count)
                let sequence = try await server.put(payload)
                let response = try await server.send("GET", "/v1/messages/\(sequence)")
                #expect(response.status == 200 && (response.header("Content-Length") != nil) == isWhole)
                let shown = try response.json()
                #expect((shown["payload"] as? String) == payload && shown["payloadBytes"] as? Int == count)
                #expect(shown["steps"] is [Any] && response.body.last == UInt8(ascii: "\n"))
            }
        }
    }

    @Test(arguments: [
        ("text/html", "application/octet-stream"), ("image/svg+xml", "application/octet-stream"),
        ("application/json; charset=latin1", "application/json"), ("TEXT/PLAIN", "text/plain; charset=utf-8"),
        ("text/javascript", "application/octet-stream"), ("application/x-ndjson", "application/octet-stream"),
    ])
    func aPayloadRunsNowhere(type: String, shown: String) async throws {
        try await TestServer.inMemory { server in
            // A body of lines is a batch, so this one says its type in its line.
            let line = #"{"payload":"<script>","headers":{"content-type":"\#(type)"}}"#
            _ = try await server.send(
                "POST", "/v1/queues/q/messages", line, headers: ["Content-Type": "application/x-ndjson"])
            let response = try await server.send("GET", "/v1/messages/1/payload")
            #expect(response.header("Content-Type") == (type == "application/x-ndjson" ? type : shown))
            #expect(response.header("X-Content-Type-Options") == "nosniff")
            #expect(response.header("Cross-Origin-Resource-Policy") == "same-origin")
            #expect(response.header("Content-Disposition") == "attachment")
            #expect(response.text == "<script>")
        }
    }

    @Test func whyAMessageWaitsIsSaid() async throws {
        try await TestServer.onFile { server in
            let sequence = try await server.put("x", headers: ["Penstock-Delay": "1h"])
            let reason = try await server.send("GET", "/v1/messages/\(sequence)/why").json()
            #expect((reason["causes"] as? [[String: Any]])?.map { $0["cause"] as? String } == ["due"])
            #expect(try await server.send("GET", "/v1/messages/7/why").status == 404)
        }
    }

    @Test func aResultIsWaitedFor() async throws {
        try await TestServer.onFile { server in
            let sequence = try await server.put("3 4")
            let path = "/v1/messages/\(sequence)/result"
            let early = try await server.send("GET", path)
            #expect(early.status == 202)
            #expect(try early.json()["state"] as? String == "ready")
            #expect(try await server.send("GET", path + "?wait=50ms").status == 202)
            async let waiting = server.send("GET", path + "?wait=60s")
            try await server.store.storage.changes.waitForWaiters(count: 1)
            let message = try #require(try await server.claim().first)
            _ = try await server.send(
                "POST", "/v1/settlements", #"[{\#(message.lease),"verdict":"done","result":"7"}]"#)
            #expect(try await waiting.json()["result"] as? String == "7")
            let late = try await server.send("GET", path)
            #expect(late.status == 200)
            #expect(try late.json()["state"] as? String == "done")
        }
    }

    /// What goes on is told as it is when the wait is over, and not as it was before.
    @Test func aWaitForAResultTellsTheStateAtItsEnd() async throws {
        let time = ManualTime()
        let store = PenstockStore(TestDatabase(time: time).open(), options: .init(time: time))
        _ = try await store.queue("q")
        try await TestServer.run(store: store) { server in
            let sequence = try await server.put("x")
            let answers = Tally()
            let waiting = Task {
                defer { answers.add() }
                return try await server.send("GET", "/v1/messages/\(sequence)/result?wait=1s").text
            }
            try await store.storage.changes.waitForWaiters(count: 1)
            _ = try await server.claim(#"{"lease":"7d"}"#)
            // The request may lie down after one of these steps.
            try await eventually {
                time.advance(by: .seconds(1))
                return answers.count > 0
            }
            #expect(try await waiting.value.contains(#""state":"leased""#))
        }
    }

    @Test func whoMayOnlyLookWaitsForAResultToo() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("penstock.db")
        let writing = try await PenstockStore.open(path: path)
        let queue = try await writing.queue("q", of: [UInt8].self)
        let sequence = try await queue.enqueue([1]).sequence
        let reading = try await PenstockStore.open(path: path, options: .init(access: .readOnly))
        try await TestServer.run(store: reading, isReadOnly: true) { server in
            let path = "/v1/messages/\(sequence)/result"
            #expect(try await server.send("GET", "\(path)?wait=50ms").status == 202)
            async let waiting = server.send("GET", "\(path)?wait=60s")
            let lease = try #require(
                try await writing.storage.claim(
                    ClaimRequest(queue: QueueName("q"), limit: 1, lease: .seconds(30))
                ).messages.first?.lease)
            _ = try await writing.storage.settle([Settlement(lease, .done, result: [55])])
            #expect(try await waiting.json()["result"] as? String == "7")
        }
        try await reading.close()
        try await writing.close()
    }

    @Test func aMessageThatIsNotDoneHasNoResult() async throws {
        try await TestServer.inMemory { server in
            let sequence = try await server.put("x")
            _ = try await server.send("POST", "/v1/commands", #"{"command":"cancel","sequences":[\#(sequence)]}"#)
            let response = try await server.send("GET", "/v1/messages/\(sequence)/result?wait=1s")
            #expect(response.status == 409)
            #expect(response.code == "messageCancelled")
            #expect(try await server.send("GET", "/v1/messages/9/result").status == 404)
        }
    }
}
