import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Subprocess
import Synchronization
import SystemPackage
import Testing

/// The ends of a server, most of them as a process of its own.
@Suite(.timeLimit(.minutes(5)), .serialized) struct StopTests {
    @Test func aServerThatIsToldToStopEndsWaitsAndStreamsAtOnce() async throws {
        try await ServerProcess.run { server in
            try await server.send("PUT", "/v1/queues/q")
            let claim = try server.client()
            try claim.request("POST", "/v1/queues/q/claims", body: #"{"wait":"60s"}"#)
            let result = try server.client()
            try await server.send("POST", "/v1/queues/q/messages", "x", headers: ["Penstock-Delay": "1h"])
            try result.request("GET", "/v1/messages/1/result?wait=60s")
            let log = try server.client()
            try log.request("GET", "/v1/queues/q/log?follow=true", headers: ["Accept": "text/event-stream"])
            _ = try await log.receive(until: "id: 1")
            // Half a head, and half a body.
            let half = try server.client()
            try half.send("POST /v1/queues/q/messages HTTP/1.1\r\nHost: local")
            let begun = try server.client()
            try begun.send("POST /v1/queues/q/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf")
            // The server has all of these when each of its threads for connections has answered one that was made later.
            for _ in 1...2 * ProcessInfo.processInfo.activeProcessorCount {
                try await server.send("GET", "/v1/queues/q")
            }
            let began = ContinuousClock.now
            server.stop()
            let claimed = try await claim.receive()
            #expect(claimed.contains("200 OK"))
            #expect(claimed.contains(#"{"messages":[]}"#))
            #expect(try await result.receive().contains("202 Accepted"))
            // The stream ends in order: its last part is there.
            #expect(try await log.receive().hasSuffix("0\r\n\r\n"))
            #expect(try await server.end.isSuccess)
            // The waits would have gone on for a minute.
            #expect(ContinuousClock.now - began < .seconds(40))
            withExtendedLifetime((half, begun)) {}
        }
    }

    /// A server that waited for the rest of the body would not end here: nothing is cancelled.
    @Test func whatAClientHasBegunToSendIsNotWaitedFor() async throws {
        let client = Mutex<RawClient?>(nil)
        try await TestServer.run(finishTime: .zero, cancelTime: .seconds(3600)) { server in
            let begun = try server.client()
            client.withLock { $0 = begun }
            try begun.send(
                "PUT /v1/queues/q HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
            // The server asks for the body, and so waits for it.
            _ = try await begun.receive(until: "\r\n\r\n")
            try begun.send("half")
        }
        client.withLock { $0 }?.hangUp()
    }

    @Test func whatRemoteWorkersHoldIsTheirsWhateverBecomesOfTheServer() async throws {
        let folder = TemporaryFolder()
        var held: [String] = []
        // Each server dies in another way, and the next one settles what it had given out.
        for end in [SIGTERM, SIGKILL, SIGTERM] {
            let given = try await ServerProcess.run(in: folder, endingWith: end) { [held] server in
                try await server.send("PUT", "/v1/queues/q")
                for lease in held {
                    let response = try await server.send("POST", "/v1/settlements", #"[{\#(lease),"verdict":"done"}]"#)
                    #expect(response.contains(#""outcome":"settled""#), "\(response)")
                }
                try await server.send("POST", "/v1/queues/q/messages", "x")
                let answer = try await server.send(
                    "POST", "/v1/queues/q/claims", #"{"limit":1000,"lease":"1h","worker":"phone"}"#)
                let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
                return (object?["messages"] as? [[String: Any]] ?? []).map(\.lease)
            }
            #expect(given.count == 1)
            held = given
        }
    }
}
