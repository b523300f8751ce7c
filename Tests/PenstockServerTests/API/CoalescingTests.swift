import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockAPI

/// Enqueues of one moment are one call of the store, and no client can tell.
@Suite(.timeLimit(.minutes(5))) struct CoalescingTests {
    private let time = ManualTime()

    private func calls(_ payloads: [String], to queue: String = "q", header: String? = nil) -> [(
        call: CoalescedEnqueuing.Call, body: ByteBuffer
    )] {
        payloads.map { payload in
            var message = NewMessage(payload: [])
            if let header { message.headers[header] = "x" }
            return (.init(queue: QueueName(stored: queue), message: message), ByteBuffer(string: payload))
        }
    }

    @Test func messagesOfOneMomentAreOneEnqueueOfEachQueue() async throws {
        let counted = CountingStore(TestDatabase().open())
        let store = PenstockStore(counted)
        for queue in ["q", "r"] { _ = try await store.queue(queue) }
        let enqueuing = CoalescedEnqueuing(store: store, time: time)
        #expect(
            await enqueuing.answers(to: calls(["a", "b", "c"])).map(\.text) == ["1 of q", "2 of q", "3 of q"])
        let answers = await enqueuing.answers(to: calls(["d"]) + calls(["e", "f"], to: "r") + calls(["g"]))
        #expect(answers.map { $0.text.suffix(4) } == ["of q", "of r", "of r", "of q"])
        #expect(counted.batches.withLock { $0.sorted() } == [2, 2, 3])
        let log = try await store.storage.log(LogQuery(queue: QueueName(stored: "q"), .last(9), limit: 9)).records
        #expect(log.map { String(decoding: $0.payload, as: UTF8.self) } == ["a", "b", "c", "d", "g"])
    }

    /// What is wrong with one client's message is nobody else's affair.
    @Test func aMessageThatCannotBeStopsNoOther() async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("q")
        let enqueuing = CoalescedEnqueuing(store: store, time: time)
        let answers = await enqueuing.answers(
            to: calls(["a"]) + calls(["b"], header: String(repeating: "n", count: 200)) + calls(["c"]))
        #expect(answers.map { $0.text.contains("of q") } == [true, false, true])
        #expect(answers[1].text.contains("invalidInput"))
        #expect(
            await enqueuing.answers(to: calls(["a", "b"], to: "none")).allSatisfy { $0.text.contains("unknownQueue") })
    }

    @Test(arguments: [OverflowPolicy.wait, .fail])
    func asManyGoInAsThereIsRoomFor(whenFull: OverflowPolicy) async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("q", policy: QueuePolicy(capacity: Capacity(2, whenFull: whenFull)))
        let answers = await CoalescedEnqueuing(store: store, time: time).answers(to: calls(["a", "b", "c"]))
        #expect(answers.count { $0.text.contains("of q") } == 2)
        #expect(answers.count { $0.text.contains("queueFull") } == 1)
        #expect(try await store.status(of: QueueName(stored: "q")).depths.ready == 2)
    }

    /// The same request by both ways: a header about the connection has it go the way of all requests.
    @Test func aClientCannotTellWhichWayItsRequestWent() async throws {
        let requests: [(path: String, headers: [String: String], body: String)] = [
            ("/v1/queues/q/messages", [:], "hello"),
            ("/v1/queues/q/messages", [:], ""),
            ("/v1/queues/q/messages", ["Content-Type": "text/plain", "Penstock-Header-A": "b"], "x"),
            ("/v1/queues/q/messages", ["Penstock-Priority": "7", "Penstock-Delay": "1h"], "x"),
            ("/v1/queues/q/messages", ["Penstock-Key": "k", "Penstock-If-Exists": "replace"], "x"),
            ("/v1/queues/q/messages", ["Penstock-Priority": "high"], "x"),
            ("/v1/queues/q/messages", ["Penstock-Nonsense": "1"], "x"),
            ("/v1/queues/q/messages", ["Penstock-Key": "idempotency local k"], "x"),
            ("/v1/queues/q/messages", ["Penstock-Group": "g"], "x"),
            ("/v1/queues/q/messages", ["Idempotency-Key": "once"], "x"),
            ("/v1/queues/q/messages", ["Content-Type": "application/x-ndjson"], #"{"payload":"x"}"#),
            ("/v1/queues/q/messages", ["Penstock-Durability": "processCrash"], "x"),
            ("/v1/queues/q/messages", ["Content-Encoding": "gzip"], "x"),
            ("/v1/queues/q/messages", ["Content-Encoding": "identity"], "x"),
            ("/v1/queues/q/messages", ["Origin": "http://elsewhere"], "x"),
            ("/v1/queues/q/messages", ["Host": "elsewhere"], "x"),
            ("/v1/queues/q/messages?wait=1ms", [:], "x"),
            ("/v1/queues/q/messages?what=1", [:], "x"),
            ("/v1/queues/q%2Fr/messages", [:], "x"),
            ("/v1/queues/none/messages", [:], "x"),
            ("/v1/queues//messages", [:], "x"),
            ("/v1/queues/full/messages", [:], "x"),
            ("/v1/queues/q/messages", [:], String(repeating: "x", count: 70_000)),
        ]
        for request in requests {
            var answers: [String] = []
            for connection in ["", "Connection: keep-alive\r\n"] {
                let answer = Answer()
                try await TestServer.inMemory(queues: [
                    "q": QueuePolicy(), "full": QueuePolicy(capacity: Capacity(1, whenFull: .fail)),
                ]) { server in
                    let full = QueueName(stored: "full")
                    _ = try await server.store.storage.enqueue(
                        [NewMessage(payload: [])], to: full, durability: .processCrash)
                    let client = try server.client()
                    var head = "POST \(request.path) HTTP/1.1\r\n\(connection)"
                    if request.headers["Host"] == nil { head += "Host: localhost\r\n" }
                    for (name, value) in request.headers { head += "\(name): \(value)\r\n" }
                    try client.send("\(head)Content-Length: \(request.body.utf8.count)\r\n\r\n\(request.body)")
                    try client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    answer.set(try await client.receive())
                    let metrics = try await server.send("GET", "/metrics").text.split(separator: "\n")
                    answer.set(metrics.first { $0.contains("duration_seconds_count{method=\"POST\"") }.map(String.init))
                }
                answers.append(answer.text)
            }
            #expect(answers[0] == answers[1], "\(request)")
            #expect(answers[0].contains("\"status\":\"ok\""), "\(request)")
        }
    }

    /// Answers come in the order of the requests, whichever way those go.
    @Test func answersKeepTheirOrderOnAConnection() async throws {
        try await TestServer.onFile { server in
            let client = try server.client()
            var text = ""
            for number in 0..<40 {
                let connection = number % 3 == 1 ? "Connection: keep-alive\r\n" : ""
                text +=
                    number % 7 == 6
                    ? "GET /v1/queues/q HTTP/1.1\r\nHost: localhost\r\n\r\n"
                    : "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\n\(connection)Content-Length: 2\r\n\r\nhi"
            }
            try client.send(text + "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let answers = try await client.receive()
            var (sequence, depths) = (0, 0)
            for line in answers.split(whereSeparator: \.isNewline) where line.hasPrefix("{") {
                if line.contains("\"depths\"") {
                    depths += 1
                    #expect(line.contains("\"ready\":\(sequence)"))
                } else if line.contains("\"sequence\"") {
                    sequence += 1
                    #expect(line.hasPrefix("{\"sequence\":\(sequence),"))
                }
            }
            #expect((sequence, depths) == (35, 5))
        }
    }

    /// What was found out about one request of a connection says nothing of another one.
    @Test func eachRequestOfAConnectionIsLookedAt() async throws {
        let tokens = try Tokens("a 0123456789abcdef-a produce a\nb 0123456789abcdef-b produce b")
        let store = PenstockStore(TestDatabase().open())
        for queue in ["a", "b"] { _ = try await store.queue(queue) }
        try await TestServer.run(store: store, tokens: tokens) { server in
            let client = try server.client()
            func status(_ token: String, _ queue: String, _ headers: [String: String] = [:]) async throws -> Int? {
                var headers = headers
                headers["Authorization"] = "Bearer 0123456789abcdef-\(token)"
                try client.request("POST", "/v1/queues/\(queue)/messages", headers: headers, body: "x")
                return Int(try await client.receive(until: "}\n").dropFirst(9).prefix(3))
            }
            for _ in 1...2 {
                #expect(try await status("a", "a") == 201)
                #expect(try await status("a", "b") == 403)
                #expect(try await status("b", "a") == 403)
                #expect(try await status("c", "a") == 401)
                #expect(try await status("b", "b") == 201)
                #expect(try await status("b", "b", ["Penstock-Priority": "9"]) == 201)
                #expect(try await status("b", "b", ["Origin": "http://elsewhere"]) == 403)
                #expect(try await status("b", "b", ["Content-Type": "text/plain"]) == 201)
            }
            #expect(try await status("a", "a") == 201)
            tokens.become(try Tokens("b 0123456789abcdef-b produce b"))
            #expect(try await status("a", "a") == 401)
        }
        let query = MessageQuery(queue: QueueName(stored: "b"), limit: 10)
        let records = try await store.storage.messages(query)
        #expect(records.map(\.priority).sorted() == [0, 0, 0, 0, 9, 9])
        #expect(records.count { $0.headers["content-type"] == "text/plain" } == 2)
    }

    /// A client may say that it sends no more, and still wants its answer; or send nonsense behind a request.
    @Test func whatComesBehindARequestSpoilsNotItsAnswer() async throws {
        try await TestServer.onFile { server in
            for end in ["", "nonsense\r\n\r\n"] {
                let client = try server.client()
                try client.send(
                    "POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi\(end)")
                client.finish()
                let answer = try await client.receive()
                #expect(answer.hasPrefix("HTTP/1.1 201 "))
            }
            let half = try server.client()
            try half.send("POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhi")
            half.finish()
            #expect(try await !half.receive().contains("201"))
            #expect(try await server.depths()["ready"] == 2)
        }
    }

    /// A client that reads nothing is served no further than its connection holds.
    @Test func whoReadsNoAnswersIsServedNoMore() async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("q")
        let coalescing = Coalescing(
            store: store, checks: DoorChecks([Everybody()]), asksForTokens: false, logger: Logger(label: "test")
        ) { _, _, _ in }
        let channel = NIOAsyncTestingChannel()
        try await channel.testingEventLoop.executeInContext {
            try channel.pipeline.syncOperations.addHandler(CoalescingHandler(coalescing))
        }
        try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/x"))
        func ask() async throws {
            var head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/v1/queues/q/messages")
            head.headerFields[.contentLength] = "0"
            try await channel.writeInbound(HTTPRequestPart.head(head))
            try await channel.writeInbound(HTTPRequestPart.end(nil))
        }
        func answer() async throws {
            for _ in 1...3 { _ = try await channel.waitForOutboundWrite(as: HTTPResponsePart.self) }
        }
        try await ask()
        try await answer()
        channel.isWritable = false
        for _ in 1...3 { try await ask() }
        try await answer()
        await channel.testingEventLoop.run()
        #expect(try await store.status(of: QueueName(stored: "q")).depths.ready == 2)
        channel.isWritable = true
        try await channel.testingEventLoop.executeInContext { channel.pipeline.fireChannelWritabilityChanged() }
        for _ in 1...2 { try await answer() }
        #expect(try await store.status(of: QueueName(stored: "q")).depths.ready == 4)
        _ = try await channel.finish()
    }

    private struct Everybody: DoorCheck {
        func refusal(of request: Request, _ context: inout ServerContext) -> Response? {
            context.principal = .local
            return nil
        }
    }

    @Test func manyClientsAtOnceEachHaveTheirOwnAnswer() async throws {
        try await TestServer.onFile { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<32 {
                    group.addTask {
                        let connection = try server.client()
                        for number in 0..<20 {
                            let body = "\(client).\(number)"
                            try connection.request("POST", "/v1/queues/q/messages", body: body)
                            let answer = try await connection.receive(until: "}\n")
                            let found = try #require(answer.firstMatch(of: #/"sequence":(\d+)/#)?.output.1)
                            let record = try await server.store.storage.messages(
                                MessageQuery(
                                    sequences: [SequenceNumber(try #require(Int64(found)))], limit: 1, withPayload: true
                                ))
                            #expect(record.first?.payload == Array(body.utf8))
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await server.depths()["ready"] == 640)
        }
    }
}

/// What a server has said, without what is another each time.
private final class Answer: Sendable {
    private let state = Mutex("")

    var text: String { state.withLock { $0 } }

    func set(_ text: String?) {
        let lines = (text ?? "none").split(whereSeparator: \.isNewline).filter {
            !$0.lowercased().hasPrefix("date:") && !$0.lowercased().hasPrefix("connection:")
        }
        state.withLock { $0 += lines.sorted().joined(separator: "\n") + "\n" }
    }
}

extension CoalescedAnswer {
    fileprivate var text: String {
        switch self {
        case .receipt(let receipt, let queue): "\(receipt.sequence) of \(queue)"
        case .failure(let error): Problem(known: error)?.code ?? "\(error)"
        }
    }
}
