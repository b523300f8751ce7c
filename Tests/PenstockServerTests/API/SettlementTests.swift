import Foundation
import Penstock
import PenstockCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct SettlementTests {
    private func settle(_ body: String, _ server: TestServer) async throws -> [[String: Any]] {
        let response = try await server.send("POST", "/v1/settlements", body)
        #expect(response.status == 200, "\(response.text)")
        return try response.json()["settlements"] as? [[String: Any]] ?? []
    }

    @Test(arguments: [
        (#""verdict":"done""#, "done"), (#""verdict":"retry","error":"no","after":"1h""#, "scheduled"),
        (#""verdict":"retry","after":0"#, "ready"),
        (#""verdict":"dead","error":"never","reason":"undecodable""#, "dead"),
        (#""verdict":"release""#, "ready"), (#""verdict":"suspend","after":"1h","event":"go""#, "scheduled"),
        (#""verdict":"suspend","until":"+1h""#, "scheduled"),
    ])
    func aVerdictIsCarriedOut(verdict: String, state: String) async throws {
        try await TestServer.onFile { server in
            let sequence = try await server.put("x")
            let message = try #require(try await server.claim().first)
            let results = try await settle("[{\(message.lease),\(verdict)}]", server)
            #expect(results.map { $0["outcome"] as? String } == ["settled"])
            #expect(results.map { $0["state"] as? String } == [state])
            #expect(try await server.show(sequence)["state"] as? String == state)
            let again = try await settle("[{\(message.lease),\(verdict)}]", server)
            #expect(again.map { $0["outcome"] as? String } == ["leaseLost"])
        }
    }

    @Test func aResultAndWhatFollowsGoInWithTheVerdict() async throws {
        try await TestServer.onFile(queues: ["q": QueuePolicy(), "next": QueuePolicy()]) { server in
            let sequence = try await server.put("x")
            let message = try #require(try await server.claim().first)
            _ = try await settle(
                """
                [{\(message.lease), "verdict": "done", "result": {"sum": 1.50},
                  "then": [{"queue": "next", "payload": {"n": [1, 2]}, "priority": 4}, {"queue": "next", "payload": "b"}]}]
                """, server)
            let result = try await server.send("GET", "/v1/messages/\(sequence)/result").json()
            #expect(result["result"] as? String == #"{"sum": 1.50}"#)
            let next = try await server.claim(#"{"limit":5}"#, from: "next")
            #expect(next.map { $0["payload"] as? String } == [#"{"n": [1, 2]}"#, "b"])
        }
    }

    @Test func verdictsAndTheNextClaimAreOneRoundTrip() async throws {
        try await TestServer.onFile { server in
            for text in ["1", "2"] { try await server.put(text) }
            let first = try #require(try await server.claim().first)
            let response = try await server.send(
                "POST", "/v1/settlements",
                #"{"settlements":[{\#(first.lease),"verdict":"done"}],"claim":{"queues":["q"],"worker":"w"}}"#)
            let answer = try response.json()
            #expect((answer["settlements"] as? [[String: Any]])?.map { $0["state"] as? String } == ["done"])
            let second = try #require((answer["messages"] as? [[String: Any]])?.first)
            #expect(second["payload"] as? String == "2")
            async let waiting = server.send(
                "POST", "/v1/settlements",
                #"{"settlements":[{\#(second.lease),"verdict":"done"}],"claim":{"queues":["q"],"wait":"60s"}}"#)
            try await server.store.storage.changes.waitForWaiters(count: 1)
            try await server.put("3")
            #expect(try await waiting.text.contains(#""payload":"3""#))
        }
    }

    @Test func aClaimThatFailsLosesNoVerdict() async throws {
        try await TestServer.inMemory { server in
            try await server.put("1")
            let message = try #require(try await server.claim().first)
            let response = try await server.send(
                "POST", "/v1/settlements",
                #"{"settlements":[{\#(message.lease),"verdict":"done"}],"claim":{"queues":["none"]}}"#)
            #expect(response.status == 200)
            let answer = try response.json()
            #expect((answer["settlements"] as? [[String: Any]])?.map { $0["state"] as? String } == ["done"])
            #expect((answer["claimProblem"] as? [String: Any])?["code"] as? String == "unknownQueue")
        }
    }

    @Test(arguments: [
        #"[{"sequence":1,"token":"1"}]"#, #"[{"sequence":1,"token":1,"verdict":"done"}]"#,
        #"[{"sequence":0,"token":"1","verdict":"done"}]"#, #"[{"sequence":1,"token":"x","verdict":"done"}]"#,
        #"[{"sequence":1,"token":"1","verdict":"maybe"}]"#,
        #"[{"sequence":1,"token":"1","verdict":"dead","result":"x"}]"#,
        #"[{"sequence":1,"token":"1","verdict":"suspend"}]"#,
        #"[{"sequence":1,"token":"1","verdict":"retry","after":-5}]"#,
        #"{"settlements":[],"clam":{}}"#, "{}", "7", "[1]",
        #"[{"sequence":1,"token":"1","verdict":"retry","holdsGroup":true}]"#,
        #"[{"sequence":1,"token":"1","verdict":"done","then":[{"payload":"x"}]}]"#,
    ])
    func refusesWhatCannotBe(body: String) async throws {
        try await TestServer.inMemory { server in
            let response = try await server.send("POST", "/v1/settlements", body)
            #expect(response.status == 400, "\(response.text)")
            #expect(response.code == "invalidInput")
        }
    }

    /// One transaction carries them all out, in which nobody else writes.
    @Test(arguments: [(19, 200), (20, 400)])
    func whatFollowsAllVerdictsOfARequestIsCounted(count: Int, status: Int) async throws {
        let then = Array(repeating: #"{"queue":"q"}"#, count: 1000).joined(separator: ",")
        let verdict = #"{"sequence":1,"token":"1","verdict":"done","then":[\#(then)]}"#
        let body = "[" + Array(repeating: verdict, count: count).joined(separator: ",") + "]"
        try await TestServer.inMemory { server in
            for body in [body, #"{"settlements":\#(body)}"#] {
                let response = try await server.send("POST", "/v1/settlements", body)
                #expect(response.status == status, "\(response.text.prefix(1000))")
            }
        }
    }

    @Test func leasesAreExtendedAndGivenBack() async throws {
        try await TestServer.onFile { server in
            let sequence = try await server.put("x")
            let message = try #require(try await server.claim().first)
            func extend(_ more: String) async throws -> [String: Any] {
                let response = try await server.send("POST", "/v1/leases/extend", "[{\(message.lease)\(more)}]")
                return try (response.json()["leases"] as? [[String: Any]])?.first ?? [:]
            }
            let held = try await extend(#","by":"1m","progress":{"fraction":0.5,"text":"half"}"#)
            #expect(held["standing"] as? String == "held")
            #expect(held["cancelRequested"] as? Bool == false)
            let progress = try await server.show(sequence)["progress"] as? [String: Any]
            #expect(progress?["fraction"] as? Double == 0.5)
            let asked = try await server.send(
                "POST", "/v1/commands", #"{"command":"requestCancel","sequences":[\#(sequence)],"within":"1h"}"#)
            #expect(asked.status == 200)
            #expect(try await extend("")["cancelRequested"] as? Bool == true)
            let released = try await server.send("POST", "/v1/leases/release", "[{\(message.lease)}]")
            #expect(released.text.contains("cancelled"))
            #expect(try await extend("")["standing"] as? String == "leaseLost")
            #expect(
                try await server.send("POST", "/v1/leases/extend", #"[{"sequence":1,"token":"1","by":"1ms"}]"#).status
                    == 400)
            #expect(try await server.send("POST", "/v1/leases/extend", "{}").status == 400)
        }
    }
}
