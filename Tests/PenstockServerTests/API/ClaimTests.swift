import Foundation
import Logging
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct ClaimTests {
    @Test func aClaimGivesMessagesToARemoteWorker() async throws {
        try await TestServer.onFile { server in
            try await server.put("one", headers: ["Penstock-Header-A": "b"])
            try await server.put("two", headers: ["Penstock-Priority": "9"])
            let messages = try await server.claim(#"{"limit":5,"lease":"1m","worker":"phone"}"#)
            #expect(messages.map { $0["payload"] as? String } == ["two", "one"])
            #expect(messages.map { $0["attempt"] as? Int } == [1, 1])
            #expect(messages[1]["headers"] as? [String: String] == ["a": "b"])
            #expect(messages[0]["token"] is String)
            let workers = try await server.send("GET", "/v1/workers").json()["workers"] as? [[String: Any]]
            #expect(workers?.map { $0["name"] as? String } == ["phone"])
            #expect(try await server.claim(#"{"lease":1.5}"#).isEmpty)
        }
    }

    @Test func aWaitingClaimIsWoken() async throws {
        try await TestServer.onFile { server in
            async let waiting = server.claim(#"{"wait":"60s"}"#)
            try await server.store.storage.changes.waitForWaiters(count: 1)
            try await server.put("now")
            #expect(try await waiting.map { $0["payload"] as? String } == ["now"])
            #expect(try await server.claim(#"{"wait":"50ms"}"#).isEmpty)
        }
    }

    @Test func aWaitingClaimGetsWhatBecomesDue() async throws {
        try await TestServer.inMemory { server in
            try await server.put("later", headers: ["Penstock-Delay": "200ms"])
            #expect(try await server.claim(#"{"wait":"60s"}"#).count == 1)
        }
    }

    @Test func severalQueuesAreServedInTheirOrder() async throws {
        try await TestServer.onFile(queues: ["a": QueuePolicy(), "b": QueuePolicy()]) { server in
            for text in ["b1", "b2"] { try await server.put(text, in: "b") }
            try await server.put("a1", in: "a")
            let response = try await server.send("POST", "/v1/claims", #"{"queues":["a","b"],"limit":2}"#)
            let messages = try response.json()["messages"] as? [[String: Any]]
            #expect(messages?.map { $0["payload"] as? String } == ["a1", "b1"])
            #expect(messages?.map { $0["queue"] as? String } == ["a", "b"])
            async let waiting = server.send("POST", "/v1/claims", #"{"queues":["a"],"wait":"60s"}"#)
            try await server.store.storage.changes.waitForWaiters(count: 1)
            try await server.put("a2", in: "a")
            #expect(try await waiting.text.contains("a2"))
        }
    }

    @Test func aClientThatHasGoneAwayHasClaimedNothing() async throws {
        try await TestServer.onFile { server in
            let changes = server.store.storage.changes
            for _ in 1...5 {
                let client = try server.client()
                try client.request("POST", "/v1/queues/q/claims", body: #"{"wait":"60s"}"#)
                try await changes.waitForWaiters(count: 1)
                client.hangUp()
                try await eventually { changes.waiterCount == 0 }
            }
            try await server.put("for somebody who is there")
            let message = try #require(try await server.claim().first)
            #expect(message["attempt"] as? Int == 1)
        }
    }

    /// The client goes as the message comes: whichever is first, the message is not lost, and its attempt not counted.
    @Test func aClientThatGoesAsTheMessageComesLosesNothing() async throws {
        // A queue for each round: a message that comes back late is not the next client's.
        let queues = (1...20).map { "q\($0)" }
        try await TestServer.onFile(queues: Dictionary(uniqueKeysWithValues: queues.map { ($0, QueuePolicy()) })) {
            server in
            let changes = server.store.storage.changes
            for queue in queues {
                let client = try server.client()
                try client.request("POST", "/v1/queues/\(queue)/claims", body: #"{"wait":"60s","lease":"1h"}"#)
                try await changes.waitForWaiters(count: 1)
                async let sent = server.put("x", in: queue)
                client.hangUp()
                _ = try await sent
                try await eventually { changes.waiterCount == 0 }
            }
            // A message that was written before the client went is with it until its lease ends: nobody can know. Others come back.
            let back = Tally()
            try await eventually {
                for queue in try await server.store.queues() where queue.depths.ready > 0 {
                    for message in try await server.claim(from: queue.name.text) {
                        #expect(message["attempt"] as? Int == 1)
                        back.add()
                    }
                }
                let held = try await server.store.queues().map(\.depths.leased).reduce(0, +)
                return held == queues.count && back.count > 0
            }
        }
    }

    @Test func oneMessageCanComeAsItIs() async throws {
        try await TestServer.inMemory { server in
            let headers = ["Accept": "application/octet-stream"]
            let none = try await server.send("POST", "/v1/queues/q/claims", "{}", headers: headers)
            #expect(none.status == 204)
            _ = try await server.request(
                "POST", "/v1/queues/q/messages", headers: ["Penstock-Header-Who": "Zoë"], body: Data([0, 255]))
            let response = try await server.send("POST", "/v1/queues/q/claims", "{}", headers: headers)
            #expect(response.status == 200)
            #expect(response.body == Data([0, 255]))
            #expect(response.header("Content-Type") == "application/octet-stream")
            #expect(response.header("Penstock-Sequence") == "1")
            #expect(response.header("Penstock-Attempt") == "1")
            #expect(response.header("Penstock-Header-who") == "Zo%C3%AB")
            let token = try #require(response.header("Penstock-Token"))
            let settled = try await server.send(
                "POST", "/v1/settlements", #"[{"sequence":1,"token":"\#(token)","verdict":"done"}]"#)
            #expect(settled.text.contains(#""outcome":"settled""#))
            let two = try await server.send("POST", "/v1/queues/q/claims", #"{"limit":2}"#, headers: headers)
            #expect(two.status == 400)
        }
    }

    /// Whoever reads a header leaves out the spaces at its ends.
    @Test(arguments: [" lead and trail ", " ", "  ", "\ttab\t", "in the middle", "100 % "])
    func spacesAtTheEndsComeAsWell(text: String) async throws {
        try await TestServer.inMemory(queues: ["q": QueuePolicy(groups: .fifo())]) { server in
            let message = NewMessage(payload: [], headers: ["x": text], group: text)
            try await server.store.queue("q", of: [UInt8].self).enqueue([message])
            let claimed = try await server.send(
                "POST", "/v1/queues/q/claims", "{}", headers: ["Accept": "application/octet-stream"])
            for name in ["Penstock-Group", "Penstock-Header-x"] {
                #expect(claimed.header(name)?.removingPercentEncoding == text)
            }
            #expect(text != "in the middle" || claimed.header("Penstock-Group") == text)
        }
    }

    /// An operator has given the token its name, and a client that claims without one of its own cannot mend it.
    @Test func aTokenWhoseNameHoldsWhatNobodySeesClaims() async throws {
        let tokens = try Tokens("shop\u{3164} secret-of-the-shop read,produce,consume,operate")
        try await TestServer.run(tokens: tokens) { server in
            let shop = server.showing("secret-of-the-shop")
            let url = try await shop.sqsQueue("mail")
            try await shop.put("one", in: "mail")
            #expect(try await shop.claim(from: "mail").count == 1)
            try await shop.sqs("SendMessage", ["QueueUrl": url, "MessageBody": "two"])
            #expect(try await shop.sqsReceive(url).map(\.body) == ["two"])
            let named = try await shop.send("POST", "/v1/queues/mail/claims", "{\"worker\":\"shop\u{3164}\"}")
            #expect(named.status == 400)
        }
    }

    @Test(arguments: [
        #"{"limit":0}"#, #"{"limit":1001}"#, #"{"lease":"1ms"}"#, #"{"lease":"8d"}"#, #"{"wait":61}"#, #"{"wait":-1}"#,
        #"{"worker":""}"#, #"{"wroker":"x"}"#, #"{"queues":["q"]}"#, "[]", "{", #"{"limit":"1"}"#, #"{"lease":1e300}"#,
    ])
    func refusesWhatCannotBe(body: String) async throws {
        try await TestServer.inMemory { server in
            try await server.put("x")
            let response = try await server.send("POST", "/v1/queues/q/claims", body)
            #expect(response.status == 400)
            #expect(try await server.depths()["ready"] == 1)
        }
    }

    @Test func aClaimOfSeveralQueuesNamesThem() async throws {
        try await TestServer.inMemory { server in
            for body in ["{}", #"{"queues":[]}"#, #"{"queues":["q","q"]}"#, #"{"queues":["none"]}"#] {
                let response = try await server.send("POST", "/v1/claims", body)
                #expect(response.status == (body.contains("none") ? 404 : 400), "\(body)")
            }
        }
    }

    /// The client is told of messages alone.
    @Test func whatAClaimSetsAsideIsInTheServersLog() async throws {
        let log = TestLog(from: .warning)
        let store = PenstockStore(
            SettingAsideStore(base: TestDatabase().open()), options: .init(logger: log.logger))
        _ = try await store.queue("q")
        let line =
            "row set aside, as it contradicts the rest of the store; `penstock doctor` says more queue=q reason=Wrong. "
            + "sequence=7"
        try await TestServer.run(store: store) { server in
            try await server.put("x")
            let message = try #require(try await server.claim().first)
            #expect(log.linesWithMetadata == [line])
            let response = try await server.send(
                "POST", "/v1/settlements",
                #"{"settlements":[{\#(message.lease),"verdict":"done"}],"claim":{"queues":["q"],"worker":"w"}}"#)
            #expect(response.status == 200, "\(response.text)")
            #expect(log.linesWithMetadata == [line, line])
        }
    }
}
