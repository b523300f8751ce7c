import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockDashboard

/// The audit is the server's own: whoever may do all there is reads it, and does nothing else with it.
@Suite(.timeLimit(.minutes(5))) struct AuditTests {
    private static let audit = "penstock.audit"
    private static let forged = #"{"act":"delete queue","on":"orders","by":"ops"}"#

    /// Calls `body` with a server that has written down one act, and a token that may do everything.
    private func withAudit(
        _ body: @escaping @Sendable (_ ops: TestServer, _ store: PenstockStore) async throws -> Void
    ) async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("mail")
        let tokens = try Tokens("ops 0123456789abcdef read,produce,consume,operate")
        try await TestServer.run(store: store, tokens: tokens) { (server) async throws in
            let ops = server.showing("0123456789abcdef")
            #expect(try await ops.submit("/queues/mail/pause").status == 303)
            #expect(try await ops.submit("/queues/mail/resume").status == 303)
            try await body(ops, store)
            let page = try await store.storage.log(LogQuery(queue: Audit.queue, .last(100)))
            #expect(page.records.count == 4)
            let entries = AuditEntry.read(page.records)
            #expect(entries.map(\.act) == ["resume queue", "pause queue"])
            #expect(entries.allSatisfy { $0.by == "ops" && $0.isDone == true })
            let queue = try #require(try await store.queues().first { $0.name == Audit.queue })
            #expect(queue.policy.retention.age == .seconds(400 * 24 * 3600) && !queue.isPaused)
        }
    }

    /// There is no such queue before the first act.
    @Test func theLogIsLinkedOnceThereIsOne() async throws {
        let store = TestDatabase().open()
        try await TestServer.run(store: PenstockStore(store)) { (server) async throws in
            let before = try await server.request("GET", "/audit").text
            #expect(before.contains("into the queue penstock.audit before") && !before.contains("/log\""))
            _ = try await Audit(store).began("act", on: "mail", queue: nil, by: "ops")
            let after = try await server.request("GET", "/audit").text
            let link = try #require(after.firstMatch(of: /into the queue <a href="([^"]*)">/)?.1)
            #expect(try await server.request("GET", String(link)).status == 200)
        }
    }

    /// What came of the last acts of a page stands on the next one.
    @Test func olderActsAreOnThePagesBehind() async throws {
        let store = TestDatabase().open()
        try await TestServer.run(store: PenstockStore(store)) { (server) async throws in
            let audit = Audit(store)
            let first = try await audit.began("act", on: "mail", queue: nil, by: "ops")
            let acts = try await store.append(
                Array(repeating: NewMessage(payload: Array(Self.forged.utf8)), count: 249), to: Audit.queue,
                unless: nil,
                durability: .processCrash)
            for act in [first] + acts.map(\.sequence) { try await audit.ended(act, "It is done.", isDone: true) }

            let newest = try await server.request("GET", "/audit").text
            #expect(newest.matches(of: /It is done\./).count == 150)
            let link = try #require(newest.firstMatch(of: /<a href="([^"]*)" rel="next">/)?.1)
            let older = try await server.request("GET", String(link)).text
            #expect(older.matches(of: /It is done\./).count == 100)
            for page in [newest, older] { #expect(!page.contains("not known")) }
            #expect(!older.contains(#"rel="next""#) && older.contains(#"<a href="/audit">newest</a>"#))
            let none = try await server.request("GET", "/audit?preceding=1").text
            #expect(none.contains("There is nothing.") && !none.contains("Nobody has done anything yet."))
        }
    }

    /// Others did much while it was under way. Of another one nothing came.
    @Test func anOutcomeFarBehindItsActIsFound() async throws {
        let store = TestDatabase().open()
        try await TestServer.run(store: PenstockStore(store)) { (server) async throws in
            let audit = Audit(store)
            let long = try await audit.began("redrive", on: "mail", queue: nil, by: "ops")
            let left = try await audit.began("purge", on: "mail", queue: nil, by: "ops")
            let act = NewMessage(payload: Array(Self.forged.utf8))
            for _ in 1...3 {
                _ = try await store.append(
                    Array(repeating: act, count: 700), to: Audit.queue, unless: nil, durability: .processCrash)
            }
            try await audit.ended(long, "It is done.", isDone: true)
            let page = try await server.request("GET", "/audit?preceding=\(left.rawValue + 1)").text
            #expect(page.matches(of: /It is done\./).count == 1)
            #expect(page.matches(of: /not on record/).count == 1)

            // A look that ends before the outcome says so; one that comes to it, or to the end of the log, is whole.
            let acts = try await store.log(LogQuery(queue: Audit.queue, .after(SequenceNumber(0)), limit: 2)).records
            for (lookMax, isWhole, outcomes) in [
                (2100, false, [nil, nil]), (2101, true, [nil, "It is done."]), (20_000, true, [nil, "It is done."]),
            ] as [(Int, Bool, [String?])] {
                var entries = AuditEntry.read(acts)
                let isComplete = try await AuditEntry.complete(
                    &entries, after: left, in: store, lookMax: lookMax)
                #expect(isComplete == isWhole && entries.map(\.outcome) == outcomes, "\(lookMax)")
            }
        }
    }

    @Test func programsChangeNothingInIt() async throws {
        try await withAudit { (ops, _) async throws in
            let place = "/v1/queues/\(Self.audit)"
            let task = #"{"tasks":[{"name":"t","queue":"penstock.audit","payload":\#(Self.forged)}]}"#
            for (method, path, body) in [
                ("POST", "\(place)/messages", Self.forged), ("POST", "\(place)/messages?wait=0s", Self.forged),
                ("POST", "\(place)/claims", "{}"), ("POST", "/v1/claims", #"{"queues":["mail","penstock.audit"]}"#),
                ("PUT", place, "{}"), ("PATCH", place, #"{"retention":{"count":0}}"#), ("DELETE", place, ""),
                ("POST", "\(place)/pause", ""), ("POST", "\(place)/purge", ""),
                ("POST", "\(place)/replay", #"{"from":1}"#),
                ("POST", "/v1/queues/mail/replay", #"{"from":1,"into":"penstock.audit"}"#),
                ("POST", "/v1/commands", #"{"command":"cancel","filter":{"queue":"penstock.audit"}}"#),
                ("PUT", "/v1/schedules/s", #"{"queue":"penstock.audit","spec":"@daily"}"#),
                ("POST", "/v1/workflows", task),
            ] {
                let response = try await ops.send(method, path, body)
                #expect(response.status == 403, "\(method) \(path): \(response.text)")
                let detail = try response.json()["detail"] as? String ?? ""
                #expect(detail.hasPrefix("Nobody may ") && detail.contains("the server alone"), "\(detail)")
            }
            // A batch, and what a verdict brings.
            let lines = try await ops.send(
                "POST", "\(place)/messages", "{}\n", headers: ["Content-Type": "application/x-ndjson"])
            #expect(lines.status == 403)
            try await ops.put("x", in: "mail")
            let claimed = try await ops.send("POST", "/v1/queues/mail/claims", "{}").json()
            let message = try #require((claimed["messages"] as? [[String: Any]])?.first)
            let verdict = #"[{\#(message.lease),"verdict":"done","then":[{"queue":"penstock.audit"}]}]"#
            #expect(try await ops.send("POST", "/v1/settlements", verdict).status == 403)
        }
    }

    @Test func clientsOfAmazonSQSChangeNothingInIt() async throws {
        try await withAudit { (ops, _) async throws in
            for (action, more) in [
                ("SendMessage", ["MessageBody": Self.forged]), ("ReceiveMessage", [:]), ("PurgeQueue", [:]),
                ("DeleteQueue", [:]), ("SetQueueAttributes", ["Attributes": ["VisibilityTimeout": "1"]]),
                ("TagQueue", ["Tags": ["a": "b"]]),
                ("SendMessageBatch", ["Entries": [["Id": "a", "MessageBody": Self.forged]]]),
            ] as [(String, [String: Any])] {
                let response = try await ops.sqsResponse(action, more.merging(["QueueUrl": Self.audit]) { $1 })
                #expect(response.status == 403, "\(action): \(response.text)")
            }
            let redrive = ["RedrivePolicy": TestServer.redrivePolicy(to: Self.audit)]
            let target = try await ops.sqsResponse("SetQueueAttributes", ["QueueUrl": "mail", "Attributes": redrive])
            #expect(target.status == 403)
        }
    }

    @Test func visitorsChangeNothingInIt() async throws {
        try await withAudit { (ops, _) async throws in
            let page = try await ops.page("/queues/\(Self.audit)")
            #expect(page.status == 200)
            #expect(!page.text.contains("/pause") && !page.text.contains("/enqueue") && !page.text.contains("/delete"))
            for (act, fields) in [
                ("enqueue", ["payload": Self.forged]), ("pause", [:]), ("cancel", ["expected": "0"]),
                ("delete", ["name": Self.audit, "force": "true"]), ("replay", ["messages": "1"]),
                ("policy", ["attemptsMax": "3"]),
            ] as [(String, [String: String])] {
                #expect(try await ops.submit("/queues/\(Self.audit)/\(act)", fields).status == 403, "\(act)")
            }
            #expect(try await ops.submit("/queues", ["name": Self.audit]).status == 403)
            let replay = try await ops.submit("/queues/mail/replay", ["messages": "1", "into": Self.audit])
            #expect(replay.status == 403)
        }
    }

    /// It is a log like any other for those who read it, and they may mark where they were.
    @Test func whoMayReadItDoes() async throws {
        try await withAudit { (ops, _) async throws in
            #expect(try await ops.page("/audit").text.contains("resume queue"))
            #expect(try await ops.page("/queues/\(Self.audit)/log").text.contains("pause queue"))
            let log = try await ops.send("GET", "/v1/queues/\(Self.audit)/log?limit=4")
            #expect(try log.lines().count == 4)
            let cursor = "/v1/queues/\(Self.audit)/cursors/archive"
            #expect(try await ops.send("PUT", cursor, #"{"after":1}"#).status == 200)
            #expect(try await ops.send("DELETE", cursor).status == 204)
            let note = cursor.replacing("archive", with: "amazon-sqs.1")
            #expect(try await ops.send("PUT", note, "{}").status == 403)
        }
    }
}
