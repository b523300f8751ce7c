import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct BatchTests {
    private func enqueue(
        _ lines: [String], _ server: TestServer, headers: [String: String] = [:], query: String = ""
    ) async throws -> TestResponse {
        try await server.send(
            "POST", "/v1/queues/q/messages\(query)", lines.joined(separator: "\n"),
            headers: headers.merging(["Content-Type": "application/x-ndjson"]) { own, _ in own })
    }

    @Test func eachLineIsAMessage() async throws {
        try await TestServer.onFile { server in
            let response = try await enqueue(
                [
                    #"{"payload":"text","priority":3,"headers":{"a":"b"},"kind":"welcome"}"#, "",
                    #"{"payload":{"n": 12345678901234567890.10}}"#, #"{"payloadBase64":"/w=="}"#, "{}",
                    #"{"payload":"late","delay":"1h","key":"k","keyScope":"while-waiting"}"#,
                ], server)
            #expect(response.status == 201)
            #expect(response.header("Content-Type") == "application/x-ndjson")
            let results = try response.lines()
            #expect(results.map { $0["line"] as? Int } == [1, 3, 4, 5, 6])
            #expect(results.map { $0["sequence"] as? Int } == [1, 2, 3, 4, 5])
            #expect(results.last?["state"] as? String == "scheduled")
            #expect(try await server.show(1)["headers"] as? [String: String] == ["a": "b", "penstock-kind": "welcome"])
            #expect(try await server.show(2)["payload"] as? String == #"{"n": 12345678901234567890.10}"#)
            #expect(try await server.show(3)["payloadBase64"] as? String == "/w==")
            #expect(try await server.show(4)["payload"] as? String == "")
        }
    }

    @Test func aBadLineLosesNoOther() async throws {
        try await TestServer.inMemory { server in
            let response = try await enqueue(
                [
                    #"{"payload":"1"}"#, #"{"paylaod":"2"}"#, #"{"payload":"3","priority":500}"#, "no JSON",
                    #"{"payload":"5","group":"g"}"#, #"{"payload":"6"}"#,
                ], server)
            #expect(response.status == 207)
            let results = try response.lines()
            #expect(results.map { $0["line"] as? Int } == Array(1...6))
            #expect(results.map { $0["sequence"] as? Int } == [1, nil, nil, nil, nil, 2])
            #expect(results.map { $0["code"] as? String }.filter { $0 == "invalidInput" }.count == 4)
            #expect(results.allSatisfy { $0["sequence"] != nil || ($0["detail"] as? String)?.isEmpty == false })
            #expect(try await server.depths()["ready"] == 2)
        }
    }

    /// What is enqueued as it was written is JSON for all who read it.
    @Test func aLineThatIsNoJSONIsToldSo() async throws {
        let wrong: [(String, String)] = [
            (#"{"payload":01}"#, "It is no JSON."), (#"{"payload":[1,]}"#, "It is no JSON."),
            (#"{"payload":1,}"#, "It is no JSON."), (#"{"payload":"\ud800"}"#, "It has half a character, \\ud800"),
            (#"{"payload":["\udc00x"]}"#, "It has half a character, \\udc00"),
            (#"{"payload":1,"key":"a","key":"b"}"#, "It has a \"key\" twice; leave one of them out."),
            (#"{"payload":1,"headers":{"a":1}}"#, "\"headers.a\" has to be a text."),
            (#"{"payload":1,"priority":99999999999999999999}"#, "A number in it has to be whole, and not too large."),
        ]
        try await TestServer.inMemory { server in
            let written = [#"1e400"#, #"{"a":1,"a":2}"#, #""\ud83d\ude00""#, "null"]
            let lines = wrong.map(\.0) + written.map { "{\"payload\":\($0)}" }
            let results = try await enqueue(lines, server).lines()
            for (result, (line, sentence)) in zip(results, wrong) {
                #expect((result["detail"] as? String)?.contains(sentence) == true, "\(line): \(result)")
            }
            #expect(results.dropFirst(wrong.count).map { $0["sequence"] as? Int } == [1, 2, 3, 4])
            let payloads = try await server.claim(#"{"limit":4}"#).map { $0["payload"] as? String }
            #expect(payloads == ["1e400", #"{"a":1,"a":2}"#, "😀", "null"])
            var latin1 = Data(#"{"payload":""#.utf8)
            latin1.append(0xFC)
            latin1.append(contentsOf: #""}"#.utf8)
            let refused = try await server.request(
                "POST", "/v1/queues/q/messages", headers: ["Content-Type": "application/x-ndjson"], body: latin1)
            #expect(refused.text.contains("The message cannot be read: It is not UTF-8."))
        }
    }

    /// Many lines are told of at once, and a line may have 32 MiB.
    @Test func whatIsSaidOfALineIsShortHoweverLongItIs() async throws {
        let long = String(repeating: "z", count: 100_000)
        try await TestServer.inMemory { server in
            let names = ["keyScope", "ifExists", "delay", "at", "expires", long]
            let lines = names.map { "{\"payload\":1,\"key\":\"k\",\"\($0)\":\"\(long)\"}" }
            let response = try await enqueue(lines, server)
            let details = try response.lines().map { $0["detail"] as? String ?? "" }
            #expect(details.count == lines.count)
            #expect(
                details.allSatisfy { $0.contains("zzz…") && $0.utf8.count < 600 }, "\(details.map { $0.prefix(600) })")
            // Nor does one that is not repeated by its beginning go on without end.
            let many = "{\"payload\":1,\"headers\":{\"\(long)\":1}}"
            #expect(try await enqueue([many], server).text.utf8.count < 1500)
        }
    }

    /// Some programs begin what they write with a mark of UTF-8, whatever follows it.
    @Test func aMarkOfUTF8BeginsALine() async throws {
        try await TestServer.inMemory { server in
            let results = try await enqueue(["\u{FEFF}{\"payload\":\"x\"}", "\u{FEFF}{\"payload\":{\"a\":1}}"], server)
                .lines()
            #expect(results.map { $0["sequence"] as? Int } == [1, 2])
            #expect(try await server.claim(#"{"limit":2}"#).map { $0["payload"] as? String } == ["x", #"{"a":1}"#])
            let lease = try #require(try await server.send("GET", "/v1/messages/1").json()["sequence"])
            let verdict = "\u{FEFF}[{\"sequence\":\(lease),\"token\":\"1\",\"verdict\":\"done\"}]"
            #expect(try await server.send("POST", "/v1/settlements", verdict).status == 200)
        }
    }

    @Test(arguments: [OverflowPolicy.wait, .fail])
    func afterALineWithoutRoomNoneGoesIn(whenFull: OverflowPolicy) async throws {
        try await TestServer.inMemory(queues: ["q": QueuePolicy(capacity: Capacity(2, whenFull: whenFull))]) { server in
            let response = try await enqueue((1...4).map { #"{"payload":"\#($0)"}"# }, server)
            #expect(response.status == 207)
            #expect(try response.lines().map { $0["sequence"] as? Int } == [1, 2, nil, nil])
            #expect(try response.lines().map { $0["code"] as? String } == [nil, nil, "queueFull", "queueFull"])
        }
    }

    @Test func aRetriedBodyIsThereOnce() async throws {
        try await TestServer.onFile { server in
            let lines = (1...3).map { #"{"payload":"\#($0)"}"# }
            let first = try await enqueue(lines, server, headers: ["Idempotency-Key": "b"])
            let second = try await enqueue(lines, server, headers: ["Idempotency-Key": "b"])
            #expect(second.text.replacing(",\"replayed\":true", with: "") == first.text)
            #expect(try second.lines().allSatisfy { $0["replayed"] as? Bool == true })
            #expect(try await server.depths()["ready"] == 3)
        }
    }

    /// A key stands for one body: what another one says under it is not in line, and its client is told.
    @Test func aKeyOfAnotherBodyIsRefused() async throws {
        try await TestServer.onFile(queues: ["q": QueuePolicy(capacity: Capacity(3, whenFull: .fail))]) { server in
            let first = try await enqueue(
                [#"{"payload":"1"}"#, #"{"payload":"2"}"#], server, headers: ["Idempotency-Key": "b"])
            #expect(first.status == 201)
            let other = try await enqueue(
                [#"{"payload":"1"}"#, #"{"payload":"TWO"}"#, #"{"payload":"3"}"#], server,
                headers: ["Idempotency-Key": "b"])
            #expect(other.status == 207)
            #expect(try other.lines().map { $0["sequence"] as? Int } == [1, nil, 3])
            #expect(try other.lines().map { $0["code"] as? String } == [nil, "idempotencyKeyReused", nil])
            #expect(try await server.depths()["ready"] == 3)
        }
    }

    /// Of what the store has not said nobody says that it is not in line.
    @Test func anOutcomeThatNobodyKnowsIsSaidSo() async throws {
        let store = PenstockStore(Doubtful(base: TestDatabase().open()))
        _ = try await store.queue("q", policy: QueuePolicy(capacity: Capacity(2, whenFull: .wait)))
        try await TestServer.run(store: store) { server in
            // What did not find room at first is offered again.
            let lines = try await enqueue((1...3).map { #"{"payload":"\#($0)"}"# }, server, query: "?wait=60s").lines()
            #expect(lines.map { $0["code"] as? String } == [nil, nil, "outcomeUnknown"])
            #expect(lines.map { $0["status"] as? Int } == [nil, nil, 504])
        }
    }

    /// A store of which nobody knows what became of the second enqueue.
    private struct Doubtful: ForwardingStore {
        let base: any MessageStore
        let count = Tally()

        func enqueue(
            _ messages: [NewMessage], to queue: QueueName, durability: Durability
        ) async throws -> [Receipt] {
            if count.add() > 1 { throw PenstockError(.outcomeUnknown, "Nobody knows.") }
            return try await base.enqueue(messages, to: queue, durability: durability)
        }
    }

    /// A client that had a key of the server's own would answer for another's request.
    @Test func keysOfTheServerAreRefused() async throws {
        try await TestServer.inMemory { server in
            let paid = try await server.put("pay", headers: ["Idempotency-Key": "pay-1"])
            let forged = "idempotency local pay-1"
            let header = try await server.send(
                "POST", "/v1/queues/q/messages", "x",
                headers: ["Penstock-Key": forged, "Penstock-If-Exists": "replace"])
            #expect(header.status == 400)
            let line = try await enqueue([#"{"payload":"x","key":"\#(forged)","ifExists":"replace"}"#], server)
            #expect(try line.lines().map { $0["code"] as? String } == ["invalidInput"])
            let lease = try #require(try await server.claim().first?.lease)
            let then = try await server.send(
                "POST", "/v1/settlements",
                "[{\(lease),\"verdict\":\"done\",\"then\":[{\"queue\":\"q\",\"payload\":\"x\",\"key\":\"\(forged)\"}]}]"
            )
            #expect(then.status == 400)
            let schedule = try await server.send(
                "PUT", "/v1/schedules/s", "{\"queue\":\"q\",\"spec\":\"@daily\",\"uniqueKey\":\"\(forged)\"}")
            #expect(schedule.status == 400)
            #expect(try await server.show(paid)["state"] as? String == "leased")
        }
    }

    @Test func manyLinesGoInByBatches() async throws {
        let counted = CountingStore(TestDatabase().open())
        let store = PenstockStore(counted)
        _ = try await store.queue("q")
        try await TestServer.run(store: store) { server in
            let response = try await enqueue((1...2500).map { #"{"payload":"\#($0)"}"# }, server)
            #expect(response.status == 201)
            #expect(try response.lines().map { $0["sequence"] as? Int } == Array(1...2500))
        }
        #expect(counted.batches.withLock { $0 } == [1000, 1000, 500])
    }

    /// A body comes for minutes, and its client is told what was in line by then.
    @Test func aTokenThatIsTakenBackPutsNoMoreLinesIn() async throws {
        let tokens = try Tokens("a 0123456789abcdef produce q\nother 0123456789abcdefg read")
        let store = InterleavedStore(TestDatabase().open())
        _ = try await PenstockStore(store).queue("q")
        try await TestServer.run(store: PenstockStore(store), tokens: tokens) { server in
            store.afterNext(.enqueue) { _ in tokens.become(try Tokens("other 0123456789abcdefg read")) }
            let response = try await enqueue(
                (1...2500).map { #"{"payload":"\#($0)"}"# }, server.showing("0123456789abcdef"))
            #expect(response.status == 207)
            let results = try response.lines()
            #expect(results.compactMap { $0["sequence"] as? Int } == Array(1...1000))
            let refused = results.dropFirst(1000)
            #expect(!refused.isEmpty && refused.allSatisfy { $0["code"] as? String == "unauthorized" })
            #expect(refused.first?["line"] as? Int == 1001)
        }
        #expect(try await store.status(of: QueueName("q")).queues.first?.totals.enqueued == 1000)
    }

    @Test func optionsOfMessagesAreInTheLines() async throws {
        try await TestServer.inMemory { server in
            let response = try await enqueue(["{}"], server, headers: ["Penstock-Priority": "1"])
            #expect(response.status == 400)
        }
    }

    /// A body of empty lines would have no end otherwise.
    @Test func emptyLinesCount() async throws {
        try await TestServer.inMemory { server in
            let response = try await enqueue(Array(repeating: "", count: 100_000) + ["", ""], server)
            #expect(response.status == 207)
            let results = try response.lines()
            #expect(results.map { $0["line"] as? Int } == [100_001] && results[0]["code"] as? String == "tooLarge")
        }
    }

    /// The lines before the one too many came in the same part of the body.
    @Test func whatComesBeforeOneLineTooManyIsInLine() async throws {
        try await TestServer.inMemory { server in
            let count = 100_000
            // Empty ones are nothing, and count.
            let lines = Array(repeating: "", count: count - 2) + Array(repeating: #"{"payload":"x"}"#, count: 4)
            let response = try await enqueue(lines, server)
            #expect(response.status == 207)
            let results = try response.lines()
            #expect(results.map { $0["line"] as? Int } == [count - 1, count, count + 1])
            #expect(results.compactMap { $0["sequence"] as? Int } == [1, 2])
            #expect(results.last?["code"] as? String == "tooLarge")
            #expect(try await server.store.queues().first?.depths.ready == 2)
        }
    }

    /// What is in line by then is told of: a client that hears that nothing was done sends all of it again. The lines that were read
    /// are in line, unless the client has ended its side: then there may be nobody.
    @Test(arguments: [("zz\r\n", 2), ("", 0)])
    func ofABodyThatBreaksMidwayEachLineIsToldOf(end: String, count: Int) async throws {
        try await TestServer.inMemory { server in
            let lines = "{\"payload\":\"1\"}\n{\"payload\":\"2\"}\n{\"pay"
            let client = try server.client()
            try client.send(
                """
                POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r
                Transfer-Encoding: chunked\r\n\r\n\(String(lines.utf8.count, radix: 16))\r\n\(lines)\r\n\(end)
                """)
            if end.isEmpty { client.finish() }
            let answer = try await client.receive()
            #expect(answer.hasPrefix("HTTP/1.1 207 "), "\(answer)")
            #expect(answer.lowercased().contains("connection: close"), "\(answer)")
            let results = answer.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("{\"line\":") }
            #expect(results.count == 3, "\(answer)")
            #expect(results.count { $0.contains("\"sequence\":") } == count)
            #expect(results.last?.hasPrefix(#"{"line":3,"status":400,"code":"invalidInput""#) == true, "\(answer)")
            #expect(try await server.depths()["ready"] == count)
        }
    }

    @Test func aLineThatIsTooLongEndsTheBody() async throws {
        try await TestServer.inMemory { server in
            let long = #"{"payload":"\#(String(repeating: "x", count: 2 * Limits.payloadBytesMax))"}"#
            let response = try await enqueue([#"{"payload":"1"}"#, long, #"{"payload":"3"}"#], server)
            #expect(response.status == 207)
            let results = try response.lines()
            #expect(results.compactMap { $0["sequence"] as? Int } == [1])
            #expect(results.compactMap { $0["code"] as? String } == ["tooLarge"])
        }
    }
}
