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

        /// A path of it.
        var example: String {
            path.replacing(#/\{sequence\}/#, with: "1").replacing(#/\{\w+\}/#, with: "q")
        }
    }

    private func operations(_ document: [String: Any]) -> [Operation] {
        (document["paths"] as? [String: [String: [String: Any]]] ?? [:]).flatMap { path, methods in
            methods.map { Operation(method: $0.uppercased(), path: path, scope: $1["x-penstock-scope"] as? String) }
        }
    }

    private func document(_ server: TestServer, headers: [String: String] = [:]) async throws -> [String: Any] {
        try await server.send("GET", "/openapi.json", headers: headers).json()
    }

    @Test func theDocumentHasEveryRouteAndNoOther() async throws {
        try await TestServer.inMemory { server in
            let documented = Set(operations(try await document(server)).map { "\($0.method) \($0.path)" })
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

    @Test(arguments: Scope.allCases)
    func aTokenMayDoWhatItsScopeSaysAndNothingElse(scope: Scope) async throws {
        let tokens = try Tokens("it 0123456789abcdef \(scope.rawValue)\nother 0123456789abcdeF read,operate z-*")
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("q")
        try await store.queue("q").enqueue(Array("x".utf8))
        try await TestServer.run(store: store, tokens: tokens) { server in
            let token = ["Authorization": "Bearer 0123456789abcdef"]
            let foreign = ["Authorization": "Bearer 0123456789abcdeF"]
            for operation in operations(try await document(server, headers: token)) {
                let what = "\(operation.method) \(operation.path)"
                guard let needed = operation.scope else { continue }
                // What would change something for the next one is not asked with the right to do it.
                if needed == scope.rawValue {
                    guard operation.method == "GET" else { continue }
                    let path = operation.path.hasSuffix("/log") ? operation.example + "?limit=1" : operation.example
                    #expect(try await server.send("GET", path, headers: token).status != 403, "\(what)")
                } else {
                    let response = try await server.send(operation.method, operation.example, "", headers: token)
                    #expect([403, 400].contains(response.status), "\(what): \(response.status)")
                    // A body that cannot be read says nothing of the store.
                    if response.status == 400 {
                        #expect(["POST", "PUT", "PATCH"].contains(operation.method), "\(what)")
                    }
                }
                if operation.path.contains("{queue}"), ["read", "operate"].contains(needed), operation.method == "GET" {
                    let response = try await server.send(operation.method, operation.example, headers: foreign)
                    #expect(response.status == 403, "\(what): a token for other queues")
                }
            }
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
