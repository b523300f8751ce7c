import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import Testing

@Suite(.timeLimit(.minutes(5))) struct QueueTests {
    @Test func aQueueIsMadeOnce() async throws {
        try await TestServer.onFile(queues: [:]) { server in
            let policy =
                #"{"capacity":{"count":5,"whenFull":"wait"},"retry":{"attemptsMax":3},"rate":{"count":9,"periodSeconds":0.5}}"#
            let made = try await server.send("PUT", "/v1/queues/mail%2Feu", policy)
            #expect(made.status == 201)
            #expect(try made.json()["queue"] as? String == "mail/eu")
            #expect(try await server.send("PUT", "/v1/queues/mail%2Feu", policy).status == 200)
            let other = try await server.send("PUT", "/v1/queues/mail%2Feu", "{}")
            #expect(other.status == 409)
            #expect(other.code == "queueExists")
        }
    }

    /// What a queue is shown with makes the same queue.
    @Test(arguments: [
        QueuePolicy(),
        QueuePolicy(
            capacity: Capacity(7, whenFull: .dropOldest),
            retry: RetryPolicy(attemptsMax: 2, base: .milliseconds(1500), factor: 1.5, cap: .seconds(60), jitter: 0),
            retention: Retention(age: nil, count: 5, deadAge: .seconds(1)), groups: .fifo(onDead: .hold), limit: 3,
            rate: Rate(5, per: .seconds(1), burst: 2), ratePerKey: Rate(1, per: .seconds(2)), isFair: true,
            whenExpired: .dead),
        QueuePolicy(groups: .limit(4)),
    ])
    func aPolicyIsReadAsItIsWritten(policy: QueuePolicy) async throws {
        try await TestServer.onFile(queues: ["a": policy]) { server in
            let shown = try await server.send("GET", "/v1/queues/a").json()["policy"] as? [String: Any]
            let body = String(decoding: try JSONSerialization.data(withJSONObject: shown ?? [:]), as: UTF8.self)
            #expect(try await server.send("PUT", "/v1/queues/b", body).status == 201)
            #expect(try await server.store.queue("b", create: false).status().policy == policy)
        }
    }

    @Test func aPartOfAPolicyIsChanged() async throws {
        let policy = QueuePolicy(capacity: Capacity(5, whenFull: .wait), groups: .fifo(onDead: .hold), limit: 2)
        try await TestServer.onFile(queues: ["q": policy]) { server in
            func expectPatched(_ body: String, _ expected: QueuePolicy) async throws {
                let response = try await server.send("PATCH", "/v1/queues/q", body)
                #expect(response.status == 200, "\(response.text)")
                let policy = try await server.store.queue("q", create: false).status().policy
                #expect(policy == expected)
            }
            var expected = policy
            expected.capacity?.count = 9
            try await expectPatched(#"{"capacity":{"count":9}}"#, expected)
            expected.limit = nil
            expected.retention.age = nil
            try await expectPatched(#"{"limit":null,"retention":{"ageSeconds":null}}"#, expected)
            expected.groups = .fifo(onDead: .next)
            try await expectPatched(#"{"groups":{"onDead":"next"}}"#, expected)
            expected.groups = nil
            expected.capacity = nil
            try await expectPatched(#"{"groups":null,"capacity":null}"#, expected)
        }
    }

    @Test func changesAtTheSameTimeUndoNothingOfEachOther() async throws {
        try await TestServer.onFile { server in
            await withTaskGroup(of: Int?.self) { group in
                for body in [
                    #"{"limit":7}"#, #"{"isFair":true}"#, #"{"whenExpired":"dead"}"#, #"{"retry":{"attemptsMax":4}}"#,
                ] {
                    group.addTask { try? await server.send("PATCH", "/v1/queues/q", body).status }
                }
                for await status in group { #expect(status == 200) }
            }
            let policy = try await server.store.queue("q", create: false).status().policy
            #expect(
                policy == QueuePolicy(retry: RetryPolicy(attemptsMax: 4), limit: 7, isFair: true, whenExpired: .dead))
        }
    }

    @Test(arguments: [
        #"{"capacity":5}"#, #"{"capacity":{}}"#, #"{"capacity":{"count":0}}"#, #"{"capasity":null}"#,
        #"{"retry":{"factor":0}}"#,
        #"{"groups":{}}"#, #"{"groups":{"fifo":true,"limitPerKey":2}}"#, #"{"rate":{"count":1}}"#, #"{"limit":"many"}"#,
        #"{"ratePerKey":{"count":1,"periodSeconds":1}}"#, #"{"whenExpired":"never"}"#, "[]", "x",
    ])
    func refusesPoliciesThatCannotBe(body: String) async throws {
        try await TestServer.inMemory { server in
            let response = try await server.send("PUT", "/v1/queues/new", body)
            #expect(response.status == 400, "\(response.text)")
            #expect(try await server.send("PATCH", "/v1/queues/q", body).status == 400)
        }
    }

    @Test func aQueueIsPausedEmptiedAndRemoved() async throws {
        try await TestServer.onFile { server in
            #expect(try await server.send("POST", "/v1/queues/q/pause").json()["isPaused"] as? Bool == true)
            try await server.put("x")
            #expect(try await server.claim().isEmpty)
            #expect(try await server.send("POST", "/v1/queues/q/resume").json()["isPaused"] as? Bool == false)
            #expect(try await server.send("DELETE", "/v1/queues/q").status == 409)
            #expect(try await server.send("POST", "/v1/queues/q/purge").json()["cancelled"] as? Int == 1)
            try await server.put("y")
            #expect(try await server.send("DELETE", "/v1/queues/q?force=true").status == 204)
            #expect(try await server.send("GET", "/v1/queues/q").status == 404)
            #expect(try await server.send("DELETE", "/v1/queues/q").status == 404)
        }
    }

    @Test func groupsArePausedAndWeighed() async throws {
        try await TestServer.onFile(queues: ["q": QueuePolicy(groups: .fifo(), isFair: true)]) { server in
            for group in ["ada", "bob", "ada"] { try await server.put("x", headers: ["Penstock-Group": group]) }
            #expect(try await server.send("POST", "/v1/queues/q/groups/ada/pause").status == 204)
            #expect(try await server.send("PUT", "/v1/queues/q/groups/bob/weight", #"{"weight":3}"#).status == 204)
            let page = try await server.send("GET", "/v1/queues/q/groups?limit=1").json()
            let ada = (page["groups"] as? [[String: Any]])?.first
            #expect(ada?["isPaused"] as? Bool == true)
            #expect(page["next"] as? String == "ada")
            let rest =
                try await server.send("GET", "/v1/queues/q/groups?after=ada").json()["groups"] as? [[String: Any]]
            #expect(rest?.map { $0["weight"] as? Int } == [3])
            #expect(try await server.send("POST", "/v1/queues/q/groups/ada/resume").status == 204)
            #expect(try await server.send("PUT", "/v1/queues/q/groups/bob/weight", #"{"weight":0}"#).status == 400)
            #expect(try await server.send("PUT", "/v1/queues/q/groups/bob/weight", "{}").status == 400)
        }
    }

    @Test func limitsAreSharedByName() async throws {
        try await TestServer.onFile { server in
            #expect(try await server.send("PUT", "/v1/limits/gpu", #"{"count":2}"#).status == 204)
            #expect(try await server.send("PATCH", "/v1/queues/q", #"{"sharedLimit":"gpu"}"#).status == 200)
            let limits = try await server.send("GET", "/v1/limits").json()["limits"] as? [[String: Any]]
            #expect(limits?.map { $0["queues"] as? [String] } == [["q"]])
            #expect(try await server.send("DELETE", "/v1/limits/gpu").status == 409)
            #expect(try await server.send("PATCH", "/v1/queues/q", #"{"sharedLimit":null}"#).status == 200)
            #expect(try await server.send("DELETE", "/v1/limits/gpu").status == 204)
            #expect(try await server.send("DELETE", "/v1/limits/gpu").status == 404)
            #expect(try await server.send("PUT", "/v1/limits/gpu", #"{"count":0}"#).status == 400)
        }
    }

    /// A limit is of all queues that share it: to use it up is for tokens of all queues.
    @Test func aTokenOfSomeQueuesSharesNoLimits() async throws {
        let tokens = try Tokens("all 0123456789abcdef-1 operate\nsome 0123456789abcdef-2 operate lim-*")
        try await TestServer.run(tokens: tokens) { server in
            func send(_ who: Int, _ method: String, _ queue: String, _ body: String) async throws -> Int {
                try await server.send(
                    method, "/v1/queues/\(queue)", body,
                    headers: ["Authorization": "Bearer 0123456789abcdef-\(who)"]
                ).status
            }
            _ = try await server.store.storage.setLimit(LimitName("gpu"), to: 1)
            #expect(try await send(2, "PUT", "lim-a", #"{"sharedLimit":"gpu"}"#) == 403)
            #expect(try await send(2, "PUT", "lim-a", "{}") == 201)
            #expect(try await send(2, "PATCH", "lim-a", #"{"sharedLimit":"gpu"}"#) == 403)
            #expect(try await send(1, "PATCH", "lim-a", #"{"sharedLimit":"gpu"}"#) == 200)
            #expect(try await send(2, "PATCH", "lim-a", #"{"limit":3}"#) == 200)
            #expect(try await send(2, "PATCH", "lim-a", #"{"sharedLimit":null}"#) == 403)
        }
    }
}
