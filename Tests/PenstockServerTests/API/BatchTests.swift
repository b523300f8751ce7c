import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(2))) struct BatchTests {
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
            #expect(first.text == second.text)
            #expect(try await server.depths()["ready"] == 3)
        }
    }

    @Test func manyLinesGoInByBatches() async throws {
        let counted = CountingStore(InMemoryStore())
        let store = PenstockStore(counted)
        _ = try await store.queue("q")
        try await TestServer.run(store: store) { server in
            let response = try await enqueue((1...2500).map { #"{"payload":"\#($0)"}"# }, server)
            #expect(response.status == 201)
            #expect(try response.lines().map { $0["sequence"] as? Int } == Array(1...2500))
        }
        #expect(counted.batches.withLock { $0 } == [1000, 1000, 500])
    }

    @Test func optionsOfMessagesAreInTheLines() async throws {
        try await TestServer.inMemory { server in
            let response = try await enqueue(["{}"], server, headers: ["Penstock-Priority": "1"])
            #expect(response.status == 400)
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
