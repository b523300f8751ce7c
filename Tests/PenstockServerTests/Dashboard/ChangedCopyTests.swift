import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockDashboard

/// The form of a queue, filled with what a message has.
@Suite struct ChangedCopyTests {
    /// What was wrong with a dead letter can be put right and tried again, and what nobody has changed stays as it was.
    @Test func aChangedCopyOfAMessageIsEnqueued() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail", policy: QueuePolicy(groups: .fifo()))
        let payload = "\n<textarea> C:\\dir &amp; \"ü\"\n\t'q'\n"
        let message = NewMessage(
            payload: Array(payload.utf8), headers: ["x-one": "a: b", "x-two": "<c>"], priority: 7, attemptsMax: 3,
            uniqueKey: UniqueKey("k"), group: "g")
        // An accent at the beginning would be one character with the space before it, and go with that; a line's end would be another header.
        let headers = ["\u{301}a", " a", "a\ny: b"]
        var messages = [message, NewMessage(payload: [0xFF]), NewMessage(payload: Array("a\rb".utf8))]
        messages += headers.map { NewMessage(payload: [0x61], headers: ["x": $0]) }
        try await queue.enqueue(messages)
        let other = try await store.queue("other")
        let claim = try await store.storage.claim(ClaimRequest(queue: queue.name, limit: 1, lease: .seconds(60)))
        let lease = try #require(claim.messages.first).lease
        _ = try await store.storage.settle([Settlement(lease, .dead(error: "no"))])
        try await TestServer.run(store: store) { server in
            let link = "/queues/mail?copy=1"
            #expect(try await server.page("/messages/1").text.contains("href=\"\(link)#enqueue\""))
            let page = try await server.page(link).text
            #expect(page.contains("Enqueue a changed copy of <a href=\"/messages/1\">message 1</a>"))
            func field(_ name: String) throws -> String {
                let area = try Regex("name=\"\(name)\"[^>]*>\\n([^<]*)</textarea>", as: (Substring, Substring).self)
                let input = try Regex("name=\"\(name)\"[^>]* value=\"([^\"]*)\"", as: (Substring, Substring).self)
                let found = try #require(page.firstMatch(of: area) ?? page.firstMatch(of: input)).output.1
                let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
                return marks.reduce(String(found)) { $0.replacing($1.0, with: $1.1) }
            }
            var form: [String: String] = [:]
            for name in EnqueueForm.names.subtracting(["delay"]) { form[name] = try field(name) }
            #expect(form["payload"] == payload)
            let done = try await server.submit("/queues/mail/enqueue", form)
            let sequence = try #require(done.header("Location")?.split(separator: "/").last.flatMap { Int64($0) })
            let copy = try await store.message(SequenceNumber(sequence))
            #expect(copy.payload == message.payload && copy.headers == message.headers && copy.priority == 7)
            #expect(copy.uniqueKey == "k" && copy.group == "g" && copy.attemptsMax == 3)

            // What the fields cannot say is not offered, and a message is its own queue's.
            for number in 2...6 {
                #expect(try await !server.page("/messages/\(number)").text.contains("changed copy"))
                #expect(try await server.page("/queues/mail?copy=\(number)").status == 400)
            }
            for path in ["/queues/mail?copy=99", "\(Link.queue(other.name))?copy=1"] {
                #expect(try await server.page(path).status == 404)
            }
            #expect(try await server.page("/queues/mail?copy=x").status == 400)
        }
    }

    /// A mail that was to expire would never do so, and nobody would know.
    @Test func whatACopyLacksIsSaid() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail")
        let held = UniqueKey("k", scope: .period(.seconds(3600)))
        try await queue.enqueue([
            NewMessage(payload: [0x61], uniqueKey: UniqueKey("l")),
            NewMessage(payload: [0x62], expiry: .after(.seconds(3600))),
            NewMessage(payload: [0x63], uniqueKey: held, expiry: .after(.seconds(3600))),
        ])
        let (expiry, key) = ("The copy does not expire.", "The copy has no unique key")
        try await TestServer.run(store: store) { server in
            for (number, says) in [(1, [false, false]), (2, [true, false]), (3, [true, true])] {
                let page = try await server.page("/queues/mail?copy=\(number)").text
                #expect(page.contains("Enqueue a changed copy"))
                #expect([page.contains(expiry), page.contains(key)] == says, "message \(number)")
            }
            #expect(try await !server.page("/queues/mail").text.contains(expiry))
        }
    }

    /// A store whose queues are being deleted, and have not gone yet.
    private struct DeletingStore: ForwardingStore {
        let base: any MessageStore

        func status(of queue: QueueName?) async throws -> StoreStatus {
            var status = try await base.status(of: queue)
            for index in status.queues.indices { status.queues[index].isDeleting = true }
            return status
        }
    }

    /// Its page has no form, and the link to it may stand on a page that was fetched before.
    @Test func aQueueThatIsBeingDeletedTakesNoCopy() async throws {
        let base = TestDatabase().open()
        let queue = try await PenstockStore(base).queue("mail")
        try await queue.enqueue([NewMessage(payload: [0x61])])
        try await TestServer.run(store: PenstockStore(DeletingStore(base: base))) { server in
            #expect(try await server.page("/queues/mail").status == 200)
            let refused = try await server.page("/queues/mail?copy=1")
            #expect(refused.status == 409 && refused.text.contains("is being deleted"), "\(refused.status)")
        }
    }
}
