import Foundation
import Penstock
import PenstockCore
import Testing

@Suite(.timeLimit(.minutes(5))) struct CommandTests {
    private func deadLetters(_ count: Int, _ server: TestServer) async throws {
        for _ in 1...count {
            try await server.put("x")
            let message = try #require(try await server.claim().first)
            _ = try await server.send("POST", "/v1/settlements", #"[{\#(message.lease),"verdict":"dead"}]"#)
        }
    }

    @Test func deadLettersAreRedrivenByAFilter() async throws {
        try await TestServer.onFile { server in
            try await deadLetters(3, server)
            let filter = #""filter":{"queue":"q","states":["dead"]}"#
            let dry = try await server.send("POST", "/v1/commands", #"{"command":"redrive",\#(filter),"dryRun":true}"#)
            #expect(try dry.json()["count"] as? Int == 3)
            #expect(try dry.json()["isDryRun"] as? Bool == true)
            #expect(try await server.depths()["dead"] == 3)
            let other = try await server.send("POST", "/v1/commands", #"{"command":"redrive",\#(filter),"expected":2}"#)
            #expect(other.status == 409)
            #expect(other.code == "selectionChanged")
            let done = try await server.send("POST", "/v1/commands", #"{"command":"redrive",\#(filter),"expected":3}"#)
            #expect(try done.json()["count"] as? Int == 3)
            #expect(try await server.depths()["ready"] == 3)
        }
    }

    @Test func deadLettersOfOneErrorAreRedriven() async throws {
        try await TestServer.onFile { server in
            for error in ["timed out after 31 s", "timed out after 7 s", "no such user"] {
                try await server.put(error)
                let message = try #require(try await server.claim().first)
                _ = try await server.send(
                    "POST", "/v1/settlements", #"[{\#(message.lease),"verdict":"dead","error":"\#(error)"}]"#)
            }
            let groups = try await server.send("GET", "/v1/queues/q/dead-groups").json()
            let first = try #require((groups["groups"] as? [[String: Any]])?.first)
            #expect(first["error"] as? String == "timed out after # s")
            #expect(first["count"] as? Int == 2)
            #expect(groups["next"] is NSNull)
            let redriven = try await server.send(
                "POST", "/v1/commands",
                #"{"command":"redrive","filter":{"queue":"q","error":"timed out after # s","reason":"rejected"},"expected":2}"#
            )
            #expect(try redriven.json()["count"] as? Int == 2)
            let found = try await server.send("GET", "/v1/queues/q/messages?state=dead&errorContains=user").json()
            #expect((found["messages"] as? [[String: Any]])?.map { $0["sequence"] as? Int } == [3])
            #expect(found["next"] is NSNull)
        }
    }

    @Test func messagesAreNamedOneByOne() async throws {
        try await TestServer.inMemory { server in
            try await deadLetters(2, server)
            let none = try await server.send("POST", "/v1/commands", #"{"command":"discard","sequences":[1,9]}"#)
            #expect(none.status == 404)
            #expect(try await server.depths()["dead"] == 2)
            let one = try await server.send("POST", "/v1/commands", #"{"command":"discard","sequences":[1]}"#)
            #expect(try one.json()["count"] as? Int == 1)
            let twice = try await server.send("POST", "/v1/commands", #"{"command":"discard","sequences":[1]}"#)
            #expect(twice.status == 409)
        }
    }

    @Test(arguments: [
        "{}", #"{"command":"explode","sequences":[1]}"#, #"{"command":"redrive"}"#,
        #"{"command":"redrive","sequences":[]}"#, #"{"command":"redrive","sequences":[0]}"#,
        #"{"command":"redrive","sequences":[1],"expected":1}"#,
        #"{"command":"redrive","filter":{"queue":"q","reason":"rejected"}}"#,
        #"{"command":"redrive","sequences":[1],"filter":{"queue":"q"}}"#, #"{"command":"redrive","filter":{}}"#,
        #"{"command":"redrive","filter":{"queue":"q","states":["done"]}}"#,
        #"{"command":"cancel","sequences":[1],"within":"1s"}"#,
        #"{"command":"requestCancel","sequences":[1],"within":"1ms"}"#,
        #"{"command":"cancel","filter":{"queue":"q","limit":-1}}"#,
    ])
    func refusesWhatCannotBe(body: String) async throws {
        try await TestServer.inMemory { server in
            let response = try await server.send("POST", "/v1/commands", body)
            #expect(response.status == 400, "\(response.text)")
        }
    }
}
