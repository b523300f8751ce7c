import Foundation
import Hummingbird
import Logging
import Penstock
import PenstockAPI
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockServer

/// What the document says there is, and which token may ask for it.
@Suite(.timeLimit(.minutes(5))) struct AccessTests {
    private struct Operation {
        var method: String
        var path: String
        var scope: String?
        /// Whether its token is to be one for all queues.
        var isForAllQueues: Bool
        /// The document's example of its body; `nil`: it takes no JSON.
        var body: String?

        var name: String { "\(method) \(path)" }

        /// Whether anybody with the scope is answered, and told of what is in his queues.
        var tellsOfOwnQueues: Bool { ["GET /v1/queues", "GET /v1/schedules"].contains(name) }

        /// Makes it: about the queue `mail`, and what else is called so, and the message 1. Returns the status of the answer.
        ///
        /// - Parameter other: a body in place of the example.
        func status(_ server: TestServer, _ token: [String: String], body other: String? = nil) async throws -> Int {
            let path = path.replacing(#/\{sequence\}/#, with: "1").replacing(#/\{\w+\}/#, with: "mail")
            let query = path.hasSuffix("/log") ? "?limit=1" : ""
            return try await server.send(method, path + query, other ?? body ?? "", headers: token).status
        }
    }

    /// In the order of their paths, so that a run is like any other.
    private func operations(_ document: [String: Any]) throws -> [Operation] {
        var operations: [Operation] = []
        for (path, methods) in document["paths"] as? [String: [String: [String: Any]]] ?? [:] {
            for (method, operation) in methods {
                operations.append(
                    Operation(
                        method: method.uppercased(), path: path, scope: operation["x-penstock-scope"] as? String,
                        isForAllQueues: operation["x-penstock-all-queues"] as? Bool ?? false,
                        body: try body(operation)))
            }
        }
        return operations.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    private func body(_ operation: [String: Any]) throws -> String? {
        let body = operation["requestBody"] as? [String: Any]
        let content = body?["content"] as? [String: [String: Any]]
        guard let json = content?["application/json"] else { return nil }
        guard let example = json["example"] else {
            throw PenstockError(.notFound, "No example of its body: \(operation["operationId"] ?? "")")
        }
        return String(decoding: try JSONSerialization.data(withJSONObject: example), as: UTF8.self)
    }

    /// A store with what operations are made about: a queue, two messages in it, and a schedule.
    private func furnished() async throws -> PenstockStore {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail", policy: QueuePolicy(isFair: true))
        for _ in 1...2 { try await queue.enqueue(Array("x".utf8)) }
        let schedule = Schedule(queue: queue.name, spec: "0 0 1 1 *", message: NewMessage(payload: []))
        _ = try await store.storage.schedule(ScheduleName("mail"), .put(schedule, replacing: false))
        return store
    }

    private func document(_ server: TestServer, headers: [String: String] = [:]) async throws -> [String: Any] {
        try await server.send("GET", "/openapi.json", headers: headers).json()
    }

    @Test func theDocumentHasEveryRouteAndNoOther() async throws {
        try await TestServer.inMemory { server in
            let documented = Set(try operations(try await document(server)).map(\.name))
            let made = Server(
                store: server.store, listen: [], tokens: nil, hosts: [], isReadOnly: false,
                logger: .init(label: "test"))
            let router = made.router(made.dashboard)
            let routes = Set(
                router.routes.map { "\($0.method) \($0.path)".replacing(#/:(\w+)/#) { "{\($0.output.1)}" } }
                    .filter { $0.contains(" /v1/") || $0.hasSuffix("/openapi.json") }
                    // What a Swift client of the same release sends is no JSON, and nobody else's.
                    .filter { !$0.contains(" /v1/store") })
            #expect(documented.subtracting(routes).isEmpty)
            #expect(routes.subtracting(documented).isEmpty)
            #expect(documented.count >= 50)
        }
    }

    /// Every reference of the document leads somewhere.
    @Test func theDocumentIsWhole() async throws {
        try await TestServer.inMemory { server in
            let response = try await server.send("GET", "/openapi.json")
            let document = try response.json()
            let components = document["components"] as? [String: [String: Any]] ?? [:]
            for match in response.text.matches(of: #/"#\/components\/(\w+)\/(\w+)"/#) {
                #expect(components[String(match.output.1)]?[String(match.output.2)] != nil, "\(match.output.0)")
            }
        }
    }

    /// The body is one that is taken of those who may. Of the others none is read, so one that is no JSON is refused as well.
    @Test(arguments: Scope.allCases)
    func aTokenMayDoWhatItsScopeSaysAndNothingElse(scope: Scope) async throws {
        let tokens = try Tokens("it 0123456789abcdef \(scope.rawValue)")
        try await TestServer.run(store: try await furnished(), tokens: tokens) { server in
            let token = ["Authorization": "Bearer 0123456789abcdef"]
            for operation in try operations(try await document(server, headers: token)) {
                guard let needed = operation.scope else { continue }
                let status = try await operation.status(server, token)
                if needed == scope.rawValue {
                    #expect(status != 403, "\(operation.name)")
                    #expect(operation.body == nil || status != 400, "\(operation.name): the example")
                } else {
                    #expect(status == 403, "\(operation.name)")
                    guard operation.body != nil else { continue }
                    let unread = try await operation.status(server, token, body: "{")
                    #expect(unread == 403, "\(operation.name): what is sent is not read")
                }
            }
        }
    }

    /// What is of other queues is not for it, and what is of no one queue neither: that asks for a token for all of them.
    @Test func aTokenForSomeQueuesReachesNoFurther() async throws {
        let scopes = Scope.allCases.map(\.rawValue).joined(separator: ",")
        let tokens = try Tokens("foreign 0123456789abcdeF \(scopes) z-*\nown 0123456789abcdef \(scopes) mail")
        let store = try await furnished()
        try await TestServer.run(store: store, tokens: tokens) { server in
            let foreign = ["Authorization": "Bearer 0123456789abcdeF"]
            let own = ["Authorization": "Bearer 0123456789abcdef"]
            let asked = try operations(try await document(server, headers: own)).filter { $0.scope != nil }
            for operation in asked {
                let status = try await operation.status(server, foreign)
                #expect(status == (operation.tellsOfOwnQueues ? 200 : 403), "\(operation.name), of another queue")
            }
            for sequence in [SequenceNumber(1), SequenceNumber(2)] {
                #expect(try await store.message(sequence).state == .ready)
            }
            for operation in asked {
                let status = try await operation.status(server, own)
                #expect((status == 403) == operation.isForAllQueues, "\(operation.name): \(status)")
            }
            #expect(asked.filter(\.isForAllQueues).count == 10)
            #expect(try await store.limits().isEmpty)
        }
    }

    @Test func aTokenForSomeQueuesSettlesOnlyTheirs() async throws {
        let tokens = try Tokens("a 0123456789abcdefa produce,consume,read a\nb 0123456789abcdefb consume b")
        let store = PenstockStore(TestDatabase().open())
        for queue in ["a", "b"] { _ = try await store.queue(queue) }
        try await TestServer.run(store: store, tokens: tokens) { server in
            let (a, b) = (
                ["Authorization": "Bearer 0123456789abcdefa"], ["Authorization": "Bearer 0123456789abcdefb"]
            )
            try await server.put("x", in: "a", headers: a)
            let claimed = try await server.send("POST", "/v1/queues/a/claims", headers: a).json()
            let message = try #require((claimed["messages"] as? [[String: Any]])?.first)
            let verdict = #"[{\#(message.lease),"verdict":"done"}]"#
            #expect(try await server.send("POST", "/v1/settlements", verdict, headers: b).status == 403)
            #expect(
                try await server.send("POST", "/v1/leases/extend", "[{\(message.lease)}]", headers: b).status == 403)
            let then = #"[{\#(message.lease),"verdict":"done","then":[{"queue":"b"}]}]"#
            #expect(try await server.send("POST", "/v1/settlements", then, headers: a).status == 403)
            #expect(try await server.send("POST", "/v1/settlements", verdict, headers: a).status == 200)
            #expect(try await server.send("GET", "/v1/queues", headers: a).text.contains(#""queue":"b""#) == false)
        }
    }

    /// A page of messages ends early when they carry much, and what is named behind them is looked at all the same.
    @Test func largeMessagesHideNoOthersBehindThem() async throws {
        let tokens = try Tokens("a 0123456789abcdefa operate,consume a")
        let store = PenstockStore(TestDatabase().open())
        for queue in ["a", "victim"] { _ = try await store.queue(queue) }
        let large = NewMessage(payload: [1], headers: ["h": String(repeating: "x", count: Limits.headerBytesMax - 1)])
        let count = Limits.logPageBytesMax / Limits.headerBytesMax + 1
        let own = try await store.storage.enqueue(
            Array(repeating: large, count: count), to: QueueName("a"), durability: .processCrash
        ).map(\.sequence)
        let victim = try await store.queue("victim").enqueue([1]).sequence
        try await TestServer.run(store: store, tokens: tokens) { (server) async throws in
            let token = ["Authorization": "Bearer 0123456789abcdefa"]
            func sequences(_ all: [SequenceNumber]) -> String { all.map(\.description).joined(separator: ",") }
            func cancel(_ all: [SequenceNumber]) async throws -> Int {
                let body = #"{"command":"cancel","sequences":[\#(sequences(all))]}"#
                return try await server.send("POST", "/v1/commands", body, headers: token).status
            }
            func leases(_ all: [SequenceNumber]) -> String {
                all.map { #"{"sequence":\#($0),"token":"0000000000000001"}"# }.joined(separator: ",")
            }
            #expect(try await cancel(own + [victim]) == 403)
            // A number is easily guessed, and is not to tell the name of a queue.
            let body = #"{"command":"cancel","sequences":[\#(victim)]}"#
            let refused = try await server.send("POST", "/v1/commands", body, headers: token)
            #expect(refused.status == 403 && refused.text.contains("message \(victim)"), "\(refused.text)")
            #expect(!refused.text.contains("'victim'"), "\(refused.text)")
            for path in ["/v1/leases/extend", "/v1/leases/release"] {
                let response = try await server.send("POST", path, "[\(leases(own + [victim]))]", headers: token)
                #expect(response.status == 403, "\(response.text)")
            }
            #expect(try await store.message(victim).state == .ready)
            #expect(try await cancel(own) == 200)
        }
    }

    /// Numbers are given one after the other, and the next one may be another tenant's.
    @Test(arguments: ["cancel", "redrive", "discard"])
    func aNumberThatNoMessageHasYetIsNobodys(command: String) async throws {
        let tokens = try Tokens("a 0123456789abcdefa operate a")
        let store = InterleavedStore(TestDatabase().open())
        for queue in ["a", "victim"] { _ = try await PenstockStore(store).queue(queue) }
        try await TestServer.run(store: PenstockStore(store), tokens: tokens) { server in
            store.afterNext(.messages) { _ = try await $0.put([1], in: "victim") }
            let body = #"{"command":"\#(command)","sequences":[1]}"#
            let token = ["Authorization": "Bearer 0123456789abcdefa"]
            let refused = try await server.send("POST", "/v1/commands", body, headers: token)
            #expect(refused.status == 404)
            let victim = try await PenstockStore(store).message(SequenceNumber(1))
            #expect(victim.state == .ready)
        }
    }

    @Test func aScheduleThatHasJustBeenMadeIsNotReplaced() async throws {
        let tokens = try Tokens("a 0123456789abcdefa operate a")
        let store = InterleavedStore(TestDatabase().open())
        for queue in ["a", "victim"] { _ = try await PenstockStore(store).queue(queue) }
        try await TestServer.run(store: PenstockStore(store), tokens: tokens) { server in
            store.afterNext(.schedules) {
                let schedule = Schedule(
                    queue: QueueName(stored: "victim"), spec: "@daily", message: NewMessage(payload: []))
                try await $0.schedule(ScheduleName("s"), .put(schedule, replacing: false))
            }
            let token = ["Authorization": "Bearer 0123456789abcdefa"]
            let body = #"{"queue":"a","spec":"@hourly"}"#
            #expect(try await server.send("PUT", "/v1/schedules/s", body, headers: token).status == 409)
            #expect(try await PenstockStore(store).schedule("s").schedule.queue.text == "victim")
            let refused = try await server.send("PUT", "/v1/schedules/s", body, headers: token)
            #expect(refused.status == 403 && !refused.text.contains("victim"), "\(refused.text)")
            let asked = try await server.send("POST", "/v1/schedules/s/pause", headers: token)
            #expect(asked.status == 403 && !asked.text.contains("victim"), "\(asked.text)")
        }
    }
}

extension MessageStore {
    /// Enqueues one message.
    fileprivate func put(_ payload: [UInt8], in queue: String) async throws -> [Receipt] {
        try await enqueue([NewMessage(payload: payload)], to: QueueName(stored: queue), durability: .processCrash)
    }
}
