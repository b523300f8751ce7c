import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct ScheduleAndWorkflowTests {
    @Test func aScheduleIsMadePausedAndRun() async throws {
        try await TestServer.onFile { server in
            let path = "/v1/schedules/nightly"
            let body =
                #"{"queue":"q","spec":"0 3 * * *","zone":"Europe/Paris","payload":{"n": 1.0},"priority":2,"uniqueKey":"n"}"#
            let made = try await server.send("PUT", path, body)
            #expect(made.status == 201, "\(made.text)")
            #expect(try made.json()["payload"] as? String == #"{"n": 1.0}"#)
            #expect(try await server.send("PUT", path, body).status == 200)
            let list = try await server.send("GET", "/v1/schedules").json()["schedules"] as? [[String: Any]]
            #expect(list?.map { $0["schedule"] as? String } == ["nightly"])
            // Payloads may be large, and the list has many schedules.
            #expect(list?.first?["payload"] == nil && list?.first?["payloadBytes"] as? Int == 10)
            #expect(try await server.send("POST", "\(path)/pause").json()["isPaused"] as? Bool == true)
            #expect(try await server.send("POST", "\(path)/resume").json()["isPaused"] as? Bool == false)
            let run = try await server.send("POST", "\(path)/run").json()
            #expect((run["firings"] as? [[String: Any]])?.map { $0["outcome"] as? String } == ["byHand"])
            #expect(try await server.show(1)["priority"] as? Int == 2)
            #expect(try await server.send("DELETE", path).status == 204)
            #expect(try await server.send("GET", path).status == 404)
            #expect(try await server.send("POST", "\(path)/run").status == 404)
        }
    }

    /// A page has what its token may see, however much lies between.
    @Test func schedulesComeByPages() async throws {
        let tokens = try Tokens("all 0123456789abcdef-all read\nteam 0123456789abcdef-team read mail")
        let store = PenstockStore(TestDatabase().open())
        let (mail, other) = (try await store.queue("mail"), try await store.queue("other"))
        for name in ["a", "d"] { try await mail.schedule(name, "@daily", [1]) }
        for name in ["b", "c", "e"] { try await other.schedule(name, "@daily", [1]) }
        try await TestServer.run(store: store, tokens: tokens) { server in
            func page(_ token: String, _ query: String) async throws -> (names: [String], next: String?) {
                let answer = try await server.send(
                    "GET", "/v1/schedules?\(query)", headers: ["Authorization": "Bearer 0123456789abcdef-\(token)"]
                ).json()
                let schedules = answer["schedules"] as? [[String: Any]] ?? []
                return (schedules.compactMap { $0["schedule"] as? String }, answer["next"] as? String)
            }
            let first = try await page("all", "limit=2")
            #expect(first.names == ["a", "b"] && first.next == "b")
            #expect(try await page("all", "limit=9&after=b").names == ["c", "d", "e"])
            #expect(try await page("team", "limit=2").names == ["a", "d"])
            let end = try await page("team", "limit=1&after=d")
            #expect(end.names.isEmpty && end.next == nil)
            let token = ["Authorization": "Bearer 0123456789abcdef-all"]
            for query in ["limit=0", "limit=1001", "after=", "last=3"] {
                #expect(
                    try await server.send("GET", "/v1/schedules?\(query)", headers: token).status == 400, "\(query)")
            }
        }
    }

    /// What a schedule is shown with makes the same schedule.
    @Test func aScheduleIsReadAsItIsWritten() async throws {
        try await TestServer.onFile { server in
            let queue = try await server.store.queue("q")
            try await queue.schedule(
                "a", "@every 90s", Array("x".utf8),
                options: .init(
                    message: .init(
                        headers: ["h": "v"], priority: 3, attemptsMax: 4,
                        uniqueKey: UniqueKey("k", scope: .period(.seconds(5))), expiry: .after(.seconds(60))),
                    missed: .all, window: .seconds(10), jitter: .seconds(2)))
            var shown = try await server.send("GET", "/v1/schedules/a").json()
            for name in [
                "schedule", "isPaused", "isReckoned", "nextDue", "firedCount", "missedCount", "problem", "firings",
            ] {
                shown[name] = nil
            }
            let body = String(decoding: try JSONSerialization.data(withJSONObject: shown), as: UTF8.self)
            #expect(try await server.send("PUT", "/v1/schedules/b", body).status == 201)
            let (a, b) = (try await server.store.schedule("a"), try await server.store.schedule("b"))
            #expect(a.schedule == b.schedule)
        }
    }

    @Test(arguments: [
        "{}", #"{"queue":"q"}"#, #"{"queue":"q","spec":"never"}"#, #"{"queue":"q","spec":"@daily","zone":"Mars"}"#,
        #"{"queue":"q","spec":"@daily","isPaused":true}"#, #"{"queue":"q","spec":"@daily","keyScope":"period"}"#,
    ])
    func refusesSchedulesThatCannotBe(body: String) async throws {
        try await TestServer.onFile { server in
            let response = try await server.send("PUT", "/v1/schedules/s", body)
            #expect(response.status == 400)
        }
    }

    @Test func workflowsAreReadFromTheEnd() async throws {
        try await TestServer.onFile { server in
            for name in ["a", "b", "c", "d", "e"] {
                let body = #"{"name":"\#(name)","tasks":[{"name":"t"}]}"#
                #expect(try await server.send("POST", "/v1/workflows?queue=q", body).status == 201)
            }
            var (pages, place) = ([[String?]](), "")
            while true {
                let page = try await server.send("GET", "/v1/workflows?last=2\(place)").json()
                pages.append((page["workflows"] as? [[String: Any]] ?? []).map { $0["workflow"] as? String })
                guard let next = page["next"] as? Int, pages.count < 9 else { break }
                place = "&preceding=\(next)"
            }
            #expect(pages == [["d", "e"], ["b", "c"], ["a"], []])
        }
    }

    @Test func aWorkflowIsStartedOnceAndSeen() async throws {
        try await TestServer.onFile { server in
            let body = #"{"name":"w","tasks":[{"name":"a","queue":"q","payload":{"n": 1}},{"name":"b","after":"a"}]}"#
            let started = try await server.send("POST", "/v1/workflows?queue=q", body)
            #expect(started.status == 201, "\(started.text)")
            #expect(try started.json()["isNew"] as? Bool == true)
            let again = try await server.send("POST", "/v1/workflows?queue=q", body)
            #expect(again.status == 200)
            #expect(try again.json()["isNew"] as? Bool == false)
            let message = try #require(try await server.claim().first)
            #expect(message["payload"] as? String == #"{"n": 1}"#)
            #expect(message["task"] as? String == "a")
            _ = try await server.send(
                "POST", "/v1/settlements", #"[{\#(message.lease),"verdict":"done","result":"7"}]"#)
            #expect(try await server.send("GET", "/v1/workflows/w/tasks/a").json()["result"] as? String == "7")
            let tasks = try await server.send("GET", "/v1/workflows/w/tasks").json()["tasks"] as? [[String: Any]]
            #expect(tasks?.map { $0["state"] as? String } == ["done", "ready"])
            let list = try await server.send("GET", "/v1/workflows").json()
            #expect((list["workflows"] as? [[String: Any]])?.map { $0["workflow"] as? String } == ["w"])
            for query in ["preceding=2", "last=0", "last=1001", "last=1&limit=1", "preceding=x&last=1"] {
                #expect(try await server.send("GET", "/v1/workflows?\(query)").status == 400, "\(query)")
            }
            #expect(try await server.send("POST", "/v1/workflows/w/cancel").json()["cancelled"] as? Int == 1)
            #expect(try await server.send("GET", "/v1/workflows/w").json()["state"] as? String == "cancelled")
            #expect(try await server.send("GET", "/v1/workflows/x").status == 404)
            #expect(try await server.send("GET", "/v1/workflows/w/tasks/x").status == 404)
            for bad in ["", "{}", #"{"tasks":[]}"#, #"{"tasks":[{"name":"a"}]}"#, "nothing"] {
                #expect(try await server.send("POST", "/v1/workflows", bad).status == 400, "\(bad)")
            }
        }
    }

    /// A client that starts a workflow of a name that is taken learns what it may know of that one, and no more.
    @Test func aStartTellsNothingOfAnothersWorkflow() async throws {
        let tokens = try Tokens("all 0123456789abcdefa produce\nsome 0123456789abcdefb read,produce a,a-*")
        let store = PenstockStore(TestDatabase().open())
        for queue in ["a", "a-b", "other"] { _ = try await store.queue(queue) }
        try await TestServer.run(store: store, tokens: tokens) { (server) async throws in
            let (all, some) = (server.showing("0123456789abcdefa"), server.showing("0123456789abcdefb"))
            func start(_ who: TestServer, _ name: String, _ tasks: String) async throws -> TestResponse {
                try await who.send("POST", "/v1/workflows?name=\(name)", #"{"tasks":[\#(tasks)]}"#)
            }
            let (mine, foreign) = (#"{"name":"t","queue":"a"}"#, #"{"name":"u","queue":"other","after":"t"}"#)
            #expect(try await start(all, "secret", "\(mine),\(foreign)").status == 201)
            let refused = try await start(some, "secret", mine)
            #expect(refused.status == 403)
            let asked = try await some.send("GET", "/v1/workflows/secret")
            #expect(try refused.json()["detail"] as? String == asked.json()["detail"] as? String)
            for status in [201, 200] {
                let answer = try await start(some, "own", #"\#(mine),{"name":"u","queue":"a-b","after":"t"}"#)
                #expect(answer.status == status, "\(answer.text)")
                #expect((try answer.json()["tasks"] as? [Any])?.count == 2)
            }
            #expect(try await start(all, "secret", mine).status == 200)
        }
    }

    @Test func anEventReachesWhoWaitsForIt() async throws {
        try await TestServer.onFile { server in
            let sequence = try await server.put("x")
            let message = try #require(try await server.claim().first)
            _ = try await server.send(
                "POST", "/v1/settlements", #"[{\#(message.lease),"verdict":"suspend","after":"1h","event":"go"}]"#)
            let path = "/v1/messages/\(sequence)/events/go"
            #expect(try await server.send("POST", path, "now").json()["isFirst"] as? Bool == true)
            #expect(try await server.send("POST", path, "again").json()["isFirst"] as? Bool == false)
            #expect(try await server.claim().count == 1)
            #expect(try await server.send("POST", "/v1/messages/9/events/go").status == 404)
            #expect(try await server.send("POST", "/v1/workflows/none/events/go").status == 404)
        }
    }
}
