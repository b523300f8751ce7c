import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockDashboard

/// Messages by filters, and dead letters by their errors.

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct FindingTests {
    /// The sequence numbers of the messages on a page, as it shows them.
    private func numbers(_ page: TestResponse) -> [Int] {
        page.text.matches(of: /<th scope="row"><a href="\/messages\/(\d+)">/).compactMap { Int($0.1) }
    }

    /// Where a page's link leads.
    private func link(_ page: TestResponse, _ word: String) -> String? {
        page.text.matches(of: /<a href="([^"]*)"[^>]*>([^<]*)<\/a>/).first { $0.2.contains(word) }
            .map { String($0.1).replacing("&amp;", with: "&") }
    }

    @Test(arguments: ["/messages?queue=mail", "/queues/mail/log"])
    func pagesGoBothWaysAndShowEachMessageOnce(path: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail")
        try await queue.enqueue((1...120).map { NewMessage(payload: [$0]) })
        try await TestServer.run(store: store) { server in
            let first = try await server.page(path)
            #expect(numbers(first) == Array((71...120).reversed()))
            #expect(link(first, "newer") == nil && link(first, "newest") == nil)
            let second = try await server.page(try #require(link(first, "older")))
            #expect(numbers(second) == Array((21...70).reversed()))
            let third = try await server.page(try #require(link(second, "older")))
            #expect(numbers(third) == Array((1...20).reversed()))
            #expect(link(third, "older") == nil)
            let back = try await server.page(try #require(link(third, "newer")))
            #expect(numbers(back) == Array((21...70).reversed()))
            let front = try await server.page(try #require(link(back, "newer")))
            #expect(numbers(front) == Array((71...120).reversed()))
            #expect(link(front, "newer") == nil)
            // What comes meanwhile is found on the way forward.
            try await queue.enqueue([1])
            let again = try await server.page(try #require(link(back, "newer")))
            #expect(numbers(again) == Array((71...120).reversed()))
            #expect(numbers(try await server.page(try #require(link(again, "newer")))) == [121])
        }
    }

    @Test func theNewestWorkflowsAreFirst() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail").name
        @Sendable func start(_ numbers: ClosedRange<Int>) async throws {
            for number in numbers {
                let task = NewTask(try TaskName("a"), queue: queue, message: NewMessage(payload: [1]))
                let workflow = NewWorkflow(try WorkflowName("w\(number)"), tasks: [task])
                _ = try await store.storage.start(workflow, durability: .processCrash)
            }
        }
        @Sendable func names(_ page: TestResponse) -> [Int] {
            page.text.matches(of: /<a href="\/workflows\/w(\d+)">/).compactMap { Int($0.1) }
        }
        try await start(1...120)
        try await TestServer.run(store: store) { server in
            let first = try await server.page("/workflows")
            #expect(names(first) == Array((21...120).reversed()))
            #expect(link(first, "newer") == nil && link(first, "newest") == nil)
            let second = try await server.page(try #require(link(first, "older")))
            #expect(names(second) == Array((1...20).reversed()))
            #expect(link(second, "older") == nil && link(second, "newest") == "/workflows")
            try await start(121...130)
            let back = try await server.page(try #require(link(second, "newer")))
            #expect(names(back) == Array((21...120).reversed()))
            let front = try await server.page(try #require(link(back, "newer")))
            #expect(names(front) == Array((121...130).reversed()))
            #expect(link(front, "newer") == nil)
            let past = try await server.page("/workflows?preceding=1")
            #expect(past.text.contains("There is no workflow here."))
            #expect(names(try await server.page(try #require(link(past, "newer")))).last == 1)
        }
    }

    @Test func everyFilterFindsItsMessages() async throws {
        let store = PenstockStore(TestDatabase().open())
        let mail = try await store.queue("mail", policy: QueuePolicy(groups: .limit(3)))
        try await mail.enqueue([
            NewMessage(payload: Array("a needle & thread".utf8), headers: ["lang": "de"], group: "g 1"),
            NewMessage(payload: Array("hay".utf8), due: .after(.seconds(600)), uniqueKey: UniqueKey("k=1")),
        ])
        try await store.putDeadLetters(in: "other", ["disk 7 is full"])
        try await TestServer.run(store: store) { server in
            for (query, found) in [
                ("", [3, 2, 1]), ("queue=mail", [2, 1]), ("state=dead", [3]), ("state=scheduled&queue=mail", [2]),
                ("text=needle+%26+thread", [1]), ("text=none", []), ("group=g+1", [1]), ("key=k%3D1", [2]),
                ("header=lang%3Dde", [1]), ("header=lang%3Den", []), ("error=disk+7", [3]), ("since=-1h", [3, 2, 1]),
                ("before=-1h", []), ("queue=&state=&text=", [3, 2, 1]),
            ] {
                #expect(numbers(try await server.page("/messages?\(query)")) == found, "\(query)")
            }
            for wrong in [
                "state=odd", "header=lang", "since=soon", "preceding=x", "queue=none", "color=red", "key=a&key=b",
                "text=\(String(repeating: "x", count: 1001))",
            ] {
                let status = try await server.page("/messages?\(wrong)").status
                #expect(status == (wrong == "queue=none" ? 404 : 400), "\(wrong)")
            }
        }
    }

    @Test func deadLettersAreGroupedAndAGroupIsMovedAsItWasShown() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await store.putDeadLetters(in: "mail", ["disk 7 is full", "disk 12 is full\nat line 3", "no host"])
        try await store.putDeadLetters(in: "sms", ["disk 9 is full"])
        try await TestServer.run(store: store) { server in
            let page = try await server.page("/dead")
            #expect(page.text.components(separatedBy: "disk # is full</code>").count == 3)
            #expect(try await !server.page("/dead?queue=sms").text.contains("no host"))
            let group = try #require(page.forms(to: "/dead/redrive").first { $0["example"] == "2" })
            #expect(group["queue"] == "mail" && group["expected"] == "2")
            // One more has failed in the same way meanwhile: it is not discarded, and is put back in line with the others.
            try await store.putDeadLetters(in: "mail", ["disk 1 is full"])
            let refused = try await server.submit("/dead/discard", group)
            #expect(refused.status == 409)
            #expect(try await store.message(SequenceNumber(1)).state == .dead)
            let moved = try await server.submit("/dead/redrive", group)
            #expect(moved.said == "3 dead letters back in line: disk # is full")
            for (number, state) in [(1, MessageState.ready), (2, .ready), (3, .dead), (4, .dead)] {
                #expect(try await store.message(SequenceNumber(Int64(number))).state == state)
            }
            let sms = try #require(page.forms(to: "/dead/discard").first { $0["queue"] == "sms" })
            #expect(sms["example"] == "4" && sms["expected"] == "1")
            let discarded = try await server.submit("/dead/discard", sms)
            #expect(discarded.said == "1 dead letter discarded: disk # is full")
            #expect(try await server.submit("/dead/discard", sms).status == 409)
            #expect(try await server.submit("/dead/discard", sms.merging(["queue": "mail"]) { $1 }).status == 409)
            #expect(try await server.submit("/dead/redrive", ["queue": "mail", "example": "3"]).status == 400)
        }
    }

    /// Nobody has looked at all of them, so there is no number that could be expected.
    @Test(arguments: ["redrive", "discard"])
    func aGroupOfWhichAPartWasLookedAtIsMovedWhole(act: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        try await store.putDeadLetters(in: "mail", ["disk 7 is full", "disk 8 is full", "disk 9 is full"])
        try await TestServer.run(store: store) { server in
            let page = try await server.page("/dead?queue=mail&preceding=3")
            #expect(page.text.contains("2 or more") && page.text.contains("These are older dead letters."))
            let form = try #require(page.forms(to: "/dead/\(act)").first)
            let moved = try await server.submit("/dead/\(act)", form)
            #expect(moved.said?.hasPrefix("3 dead letters ") == true)
            #expect(moved.headers.value(forHTTPHeaderField: "Location") == "/dead?queue=mail&preceding=3")
        }
    }

    @Test(arguments: ["//elsewhere.example/", "/dead?\r\nSet-Cookie: a=b", "/queues"])
    func anActLeadsToNoOtherPage(place: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        try await store.putDeadLetters(in: "mail", ["disk 7 is full"])
        try await TestServer.run(store: store) { server in
            let form = try #require(try await server.page("/dead").forms(to: "/dead/redrive").first)
            let moved = try await server.submit("/dead/redrive", form.merging(["place": place]) { $1 })
            #expect(moved.status == 303 && moved.headers.value(forHTTPHeaderField: "Location") == "/dead")
        }
    }

    /// The message that names a group may have been put back in line, and have died of something else.
    @Test(arguments: ["redrive", "discard"])
    func aGroupIsLeftAloneWhenItsExampleHasFailedInAnotherWay(act: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        try await store.putDeadLetters(in: "mail", ["disk 7 is full", "disk 8 is full"])
        try await TestServer.run(store: store) { server in
            let page = try await server.page("/dead")
            let form = try #require(page.forms(to: "/dead/\(act)").first)
            #expect(form["example"] == "2" && form["expected"] == "2")
            _ = try await store.storage.apply(.redrive, to: [SequenceNumber(2)])
            let claim = try await store.storage.claim(
                ClaimRequest(queue: QueueName("mail"), limit: 1, lease: .seconds(60)))
            let lease = try #require(claim.messages.first).lease
            _ = try await store.storage.settle([Settlement(lease, .dead(error: "no host"))])
            let refused = try await server.submit("/dead/\(act)", form)
            #expect(refused.status == 409 && refused.text.contains("failed in another way"))
            for number: Int64 in [1, 2] {
                #expect(try await store.message(SequenceNumber(number)).state == .dead)
            }
            // As it fails now, it is a group of its own.
            let now = try #require(
                try await server.page("/dead").forms(to: "/dead/\(act)").first { $0["example"] == "2" })
            #expect(try await server.submit("/dead/\(act)", now).status == 303)
            #expect(try await store.message(SequenceNumber(1)).state == .dead)
        }
    }

    @Test func aTokenOfSomeQueuesFindsThoseByName() async throws {
        let store = PenstockStore(TestDatabase().open())
        try await store.putDeadLetters(in: "mail", ["no host"])
        try await store.putDeadLetters(in: "secret", ["no key"])
        let tokens = try Tokens("mail 0123456789abcdef read,operate mail")
        try await TestServer.run(store: store, tokens: tokens) { server in
            let cookie = ["Cookie": "penstock_token=0123456789abcdef"]
            for path in ["/messages", "/dead"] {
                let page = try await server.page(path, headers: cookie)
                #expect(page.status == 200 && page.text.contains("name one") && !page.text.contains("secret"))
                #expect(try await server.page("\(path)?queue=mail", headers: cookie).status == 200)
                #expect(try await server.page("\(path)?queue=secret", headers: cookie).status == 403)
            }
            let group = ["queue": "secret", "example": "2", "shown": "x", "expected": "1"]
            #expect(try await server.submit("/dead/discard", group, headers: cookie).status == 403)
            #expect(try await store.message(SequenceNumber(2)).state == .dead)
        }
    }
}
