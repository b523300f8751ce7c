import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockDashboard

@Suite struct ActTests {
    private func status(_ store: PenstockStore, _ queue: String) async throws -> QueueStatus {
        try #require(try await store.storage.status(of: QueueName(queue)).queues.first)
    }

    @Test func aQueueIsMadeChangedPausedAndDeleted() async throws {
        try await TestServer.run { server in
            let made = try await server.submit(
                "/queues", ["name": "a/b ü", "attemptsMax": "3", "capacity": "10", "whenFull": "fail", "keepFor": "1d"])
            #expect(made.status == 303)
            #expect(made.header("Location") == "/queues/a%2Fb%20%C3%BC")
            #expect(made.said == "The queue 'a/b ü' is there.")
            let link = try #require(made.header("Location"))
            var queue = try await status(server.store, "a/b ü")
            #expect(queue.policy.retry.attemptsMax == 3)
            #expect(queue.policy.capacity == Capacity(10, whenFull: .fail))
            #expect(queue.policy.retention.age == .seconds(86400))

            let page = try await server.page("\(link)/policy")
            let shown = try #require(page.text.firstMatch(of: /name="shown" value="([^"]*)"/)).1
                .replacing("&quot;", with: "\"")
            let changed = try await server.submit(
                "\(link)/policy", ["shown": String(shown), "groups": "limit", "limitPerKey": "4", "isFair": "true"])
            #expect(changed.status == 303)
            queue = try await status(server.store, "a/b ü")
            #expect(queue.policy.groups == .limit(4) && queue.policy.isFair && queue.policy.capacity == nil)
            // Whoever has seen another policy changes nothing.
            let late = try await server.submit("\(link)/policy", ["shown": String(shown), "attemptsMax": "9"])
            #expect(late.status == 409)

            #expect(try await server.submit("\(link)/pause").status == 303)
            #expect(try await status(server.store, "a/b ü").isPaused)
            #expect(try await server.submit("\(link)/resume").status == 303)
            #expect(try await server.submit("\(link)/delete", ["name": "a"]).status == 400)
            #expect(try await server.submit("\(link)/delete", ["name": "a/b ü"]).header("Location") == "/")
            #expect(try await server.page(link).status == 404)
        }
    }

    /// By the forms of its page, whatever its key is to an address or to a page.
    @Test(arguments: ["a/b ü", "1+1=2&3?#%", "\u{202E}<x>"])
    func aGroupIsPausedAndResumed(_ group: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail", policy: QueuePolicy(groups: .fifo()))
        try await queue.enqueue(["1", "2"].map { NewMessage(payload: Array($0.utf8), group: group) })
        try await TestServer.run(store: store) { server in
            func press(_ word: String) async throws {
                let text = try await server.page("/queues/mail").text
                let actions = text.matches(of: /action="(\/queues\/mail\/groups\/[^"]*)"/).map { String($0.1) }
                #expect(actions == [Link.page("/queues/mail/groups/\(word)", ["group": group])])
                #expect(try await server.submit(try #require(actions.first)).status == 303)
            }
            try await press("pause")
            #expect(try await queue.groups().map(\.isPaused) == [true])
            try await press("resume")
            #expect(try await queue.groups().map(\.isPaused) == [false])
            let page = try await store.storage.log(LogQuery(queue: Audit.queue, .last(100)))
            let entries = AuditEntry.read(page.records)
            #expect(entries.map(\.act) == ["resume group", "pause group"])
            #expect(entries.allSatisfy { $0.subject == "\(group) of mail" && $0.isDone == true })
        }
    }

    @Test func aMessageIsEnqueuedByHand() async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("mail")
        try await TestServer.run(store: store) { server in
            let done = try await server.submit(
                "/queues/mail/enqueue",
                [
                    "payload": "a\r\nb & c+d", "headers": "x-one: 1\r\nx-two:  zwei", "priority": "5", "delay": "10m",
                    "key": "k",
                ])
            #expect(done.header("Location") == "/messages/2")
            #expect(done.said == "Message 2 is scheduled.")
            let message = try await store.message(SequenceNumber(2))
            #expect(message.payload == Array("a\nb & c+d".utf8))
            #expect(message.headers == ["x-one": "1", "x-two": "zwei"])
            #expect(message.priority == 5 && message.uniqueKey == "k")
            let again = try await server.submit("/queues/mail/enqueue", ["key": "k"])
            #expect(again.said == "Nothing was enqueued: message 2 has that key.")
            for wrong in [
                ["priority": "500"], ["delay": "soon"], ["headers": "none"], ["group": "a"], ["color": "red"],
            ] {
                #expect(try await server.submit("/queues/mail/enqueue", wrong).status == 400)
            }
        }
    }

    @Test func aMessageIsMoved() async throws {
        let store = try await PageTests.store()
        try await TestServer.run(store: store) { (server) async throws in
            #expect(try await server.submit("/messages/1/redrive").status == 303)
            #expect(try await store.message(SequenceNumber(1)).state == .ready)
            #expect(try await server.submit("/messages/1/discard").status == 409)
            #expect(try await server.submit("/messages/1/cancel").status == 303)
            #expect(try await store.message(SequenceNumber(1)).state == .cancelled)
            #expect(try await server.submit("/messages/99/cancel").status == 404)
        }
    }

    @Test func waitingMessagesAreCancelledAndWhatRunsIsNot() async throws {
        let store = try await PageTests.store()
        try await TestServer.run(store: store) { (server) async throws in
            // The message with a due time, and the two tasks.
            let form = try #require(try await server.page("/queues/hold").forms(to: "/queues/hold/cancel").first)
            #expect(form == ["expected": "3"])
            #expect(try await server.submit("/queues/hold/cancel").status == 400)
            // One more waits than was shown: nothing is cancelled.
            try await store.queue("hold").enqueue([7])
            #expect(try await server.submit("/queues/hold/cancel", form).status == 409)
            #expect(try await status(store, "hold").depths.waiting == 3)
            #expect(try await server.submit("/queues/hold/cancel", ["expected": "4"]).said == "4 messages cancelled.")
            #expect(try await store.message(SequenceNumber(2)).state == .leased)
        }
    }

    @Test func aScheduleRunsPausesAndGoes() async throws {
        let store = try await PageTests.store()
        try await TestServer.run(store: store) { (server) async throws in
            #expect(try await server.submit("/schedules/nightly/run").status == 303)
            #expect(try await server.page("/schedules/nightly").text.contains("byHand"))
            #expect(try await server.submit("/schedules/nightly/pause").status == 303)
            #expect(try await store.storage.schedules(ScheduleName("nightly")).first?.isPaused == true)
            #expect(try await server.submit("/schedules/nightly/remove").header("Location") == "/schedules")
            #expect(try await server.submit("/schedules/nightly/run").status == 404)
        }
    }

    @Test func aWorkflowIsCancelled() async throws {
        let store = try await PageTests.store()
        try await TestServer.run(store: store) { (server) async throws in
            #expect(try await server.submit("/workflows/build/cancel").said == "2 tasks had not ended.")
            #expect(try await server.page("/workflows/build").text.contains("cancelled"))
        }
    }

    @Test func whoDidWhatIsWrittenDown() async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("mail")
        try await TestServer.run(store: store) { server in
            #expect(try await server.submit("/queues/mail/pause").status == 303)
            #expect(try await server.submit("/messages/77/redrive").status == 404)
            #expect(try await server.submit("/queues/mail/delete", ["name": "mail", "force": "true"]).status == 303)
            let page = try await store.storage.log(LogQuery(queue: Audit.queue, .last(100)))
            let entries = AuditEntry.read(page.records)
            #expect(entries.map(\.act) == ["delete queue", "pause queue"])
            #expect(entries.map(\.by) == ["local", "local"])
            #expect(entries.allSatisfy { $0.isDone == true })
            let text = try await server.page("/audit").text
            #expect(text.contains("pause queue") && text.contains("The queue &#39;mail&#39; is deleted"))
        }
    }

    /// The page that an act leads to says what was done, and not another one that brings itself up to date just then.
    @Test func whatWasDoneIsSaidOnce() async throws {
        try await TestServer.run { server in
            var headers = ["Cookie": "penstock_said=It%20is%20done"]
            let page = try await server.page("/", headers: headers)
            #expect(page.text.contains("It is done") && page.header("Set-Cookie")?.contains("Max-Age=0") == true)
            headers["X-Penstock-Refresh"] = "1"
            let refreshed = try await server.page("/", headers: headers)
            #expect(!refreshed.text.contains("It is done") && refreshed.header("Set-Cookie") == nil)
        }
    }

    /// A browser takes no cookie of more than 4096 bytes.
    @Test func whatIsSaidIsNotTooLong() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await store.putDeadLetters(in: "mail", [String(repeating: "\u{1B}", count: 500)])
        try await TestServer.run(store: store) { server in
            let form = try #require(try await server.page("/dead").forms(to: "/dead/discard").first)
            let done = try await server.submit("/dead/discard", form)
            #expect(done.said?.hasPrefix("1 dead letter discarded") == true)
            #expect(try #require(done.header("Set-Cookie")).utf8.count < 4096)
        }
    }

    /// Whoever gave a message a key of the server's own would answer for another's request.
    @Test(arguments: ["idempotency ops k2", "amazon-sqs dead 1 1"])
    func aMessageTakesNoKeyOfTheServersOwn(_ key: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("mail")
        try await TestServer.run(store: store) { (server) async throws in
            let response = try await server.submit("/queues/mail/enqueue", ["payload": "same", "key": key])
            #expect(response.status == 400)
            #expect(response.text.contains("these are the server&#39;s own"))
            #expect(try await status(store, "mail").totals.enqueued == 0)
            #expect(try await server.submit("/queues/mail/enqueue", ["payload": "same", "key": "k2"]).status == 303)
        }
    }

    @Test func anActThatFailsIsWrittenDownAsOne() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail")
        try await queue.enqueue(Array("x".utf8))
        try await TestServer.run(store: store) { server in
            #expect(try await server.submit("/queues/mail/delete", ["name": "mail"]).status == 409)
            let page = try await store.storage.log(LogQuery(queue: Audit.queue, .last(100)))
            let entry = try #require(AuditEntry.read(page.records).first)
            #expect(entry.isDone == false && entry.outcome?.isEmpty == false)
        }
    }

    @Test func entriesThatAreNoneAreLeftOut() throws {
        let now = Timestamp(microseconds: 0)
        let texts = [
            "nonsense", "{\"act\":\"a\",\"by\":\"b\"}", "[1]", "{\"of\":2,\"outcome\":\"done\",\"isDone\":true}",
            "{\"of\":9}",
        ]
        let records = texts.enumerated().map {
            LogRecord(sequence: SequenceNumber(Int64($0 + 1)), enqueuedAt: now, headers: [:], payload: Array($1.utf8))
        }
        let entries = AuditEntry.read(records)
        #expect(entries.count == 1)
        #expect(entries.first?.outcome == "done" && entries.first?.subject == "")
    }
}
