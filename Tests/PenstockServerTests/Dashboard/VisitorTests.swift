import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockDashboard

@Suite struct VisitorTests {
    private static let key = "0123456789abcdef"

    private func tokens() throws -> Tokens {
        try Tokens(
            """
            ops   \(Self.key)-ops   read,produce,operate
            look  \(Self.key)-look  read
            mail  \(Self.key)-mail  read,operate  mail*
            """)
    }

    private func cookie(_ name: String) -> [String: String] { ["Cookie": "penstock_token=\(Self.key)-\(name)"] }

    @Test func pagesLeadToTheSignInAndTheAPIDoesNot() async throws {
        try await TestServer.run(tokens: try tokens()) { server in
            let page = try await server.page("/queues/mail?span=15m")
            #expect(page.status == 303)
            #expect(page.header("Location") == "/login?to=%2Fqueues%2Fmail%3Fspan%3D15m")
            #expect(try await server.page("/v1/queues").status == 401)
            #expect(try await server.page("/events").status == 303)
            #expect(try await server.page("/elsewhere").status == 401)
            #expect(try await server.submit("/queues", ["name": "x"]).status == 401)
            #expect(try await server.page("/login").status == 200)
            #expect(try await server.page(Assets.style.path).status == 200)
        }
    }

    /// A line to the server is refused, ends with the right to have it, and is not asked for by pages that could not have it.
    @Test(.timeLimit(.minutes(5))) func whoMayLookAtNoQueueIsToldOfNoChange() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail")
        let tokens = try Tokens("shop \(Self.key)-shop produce\nlook \(Self.key)-look read")
        try await TestServer.run(store: store, tokens: tokens) { server in
            let refused = try server.client()
            try refused.request("GET", "/events", headers: cookie("shop"))
            #expect(try await refused.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 403 "))
            #expect(try await !server.page("/", headers: cookie("shop")).text.contains("data-live"))
            #expect(try await server.page("/", headers: cookie("look")).text.contains("data-live"))
            let client = try server.client()
            try client.request(
                "GET", "/events", headers: cookie("look").merging(["Connection": "close"]) { own, _ in own })
            #expect(try await client.receive(until: "retry: 2000").hasPrefix("HTTP/1.1 200 "))
            tokens.become(try Tokens("look \(Self.key)-look produce"))
            try await queue.enqueue([1])
            // Until the server hangs up.
            #expect(try await !client.receive().contains("mail"))
        }
    }

    @Test func aTokenBecomesACookieThatNoScriptSees() async throws {
        try await TestServer.run(tokens: try tokens()) { server in
            // Anybody may sign in, and no more is read for that than it takes.
            let large = try await server.submit("/login", ["token": String(repeating: "x", count: 17_000)])
            #expect(large.status == 413)
            let wrong = try await server.submit("/login", ["token": "0123456789abcdef-op", "to": "/dead"])
            #expect(wrong.status == 401)
            #expect(wrong.header("Set-Cookie") == nil)
            let right = try await server.submit("/login", ["token": " \(Self.key)-ops\n", "to": "/workers"])
            #expect(right.status == 303)
            #expect(right.header("Location") == "/workers")
            let cookie = try #require(right.header("Set-Cookie"))
            #expect(cookie.hasPrefix("penstock_token=\(Self.key)-ops;"))
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/"))
            #expect(!cookie.contains("Secure"), "Nobody could sign in without TLS.")
            let proxied = try await server.submit(
                "/login", ["token": "\(Self.key)-ops"], headers: ["X-Forwarded-Proto": "https"])
            #expect(try #require(proxied.header("Set-Cookie")).contains("; Secure"))
            #expect(try await server.page("/", headers: self.cookie("ops")).status == 200)
            let left = try await server.submit("/logout", headers: self.cookie("ops"))
            #expect(left.header("Location") == "/login")
        }
    }

    @Test(arguments: [
        ("/dead", "/dead"), ("//evil.example/", "/"), ("https://evil.example/", "/"), ("/\\evil.example", "/"),
        ("", "/"),
        ("/x\r\nSet-Cookie: a=b", "/"), ("/messages?text=a%20b", "/messages?text=a%20b"),
    ])
    func afterTheSignInNobodyIsLedElsewhere(to: String, place: String) {
        #expect(SignInPages.place(to) == place)
    }

    @Test func whatMayNotBeDoneIsNotShownAndIsRefused() async throws {
        let store = try await PageTests.store()
        try await TestServer.run(store: store, tokens: try tokens()) { server in
            let page = try await server.page("/queues/mail", headers: cookie("look"))
            #expect(page.status == 200)
            #expect(!page.text.contains("/pause") && !page.text.contains("/enqueue") && !page.text.contains("/delete"))
            let message = try await server.page("/messages/1", headers: cookie("look"))
            #expect(message.status == 200 && !message.text.contains("/redrive") && !message.text.contains("copy=1"))
            #expect(try await server.page("/messages/1", headers: cookie("ops")).text.contains("copy=1"))
            #expect(try await server.page("/queues/mail?copy=1", headers: cookie("look")).status == 403)
            let replay = try await server.page("/queues/mail/replay", headers: cookie("look"))
            #expect(replay.text.contains("1 message would") && replay.forms(to: "/queues/mail/replay").isEmpty)
            // What a token may do nothing but look at: `ActRightsTests`.
            for path in ["/queues/mail/enqueue", "/queues/hold/pause", "/workflows/build/cancel"] {
                #expect(try await server.submit(path, headers: cookie("mail")).status == 403, "\(path)")
            }
            #expect(try await server.submit("/queues/mail/pause", headers: cookie("mail")).status == 303)
        }
    }

    /// A limit is of all queues that share it, whether a form asks for it or a program.
    @Test func aTokenOfSomeQueuesSharesNoLimits() async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("mail")
        try await store.storage.setLimit(LimitName("gpu"), to: 1)
        try await TestServer.run(store: store, tokens: try tokens()) { (server) async throws in
            func change(_ name: String, _ more: [String: String]) async throws -> Int {
                let page = try await server.page("/queues/mail/policy", headers: cookie(name))
                let form = try #require(page.forms(to: "/queues/mail/policy").first)
                return try await server.submit(
                    "/queues/mail/policy", form.merging(more) { $1 }, headers: cookie(name)
                ).status
            }
            func make(_ name: String, _ fields: [String: String]) async throws -> Int {
                try await server.submit("/queues", fields, headers: cookie(name)).status
            }
            #expect(try await change("mail", ["sharedLimit": "gpu"]) == 403)
            #expect(try await make("mail", ["name": "mail-new", "sharedLimit": "gpu"]) == 403)
            #expect(try await store.queues().allSatisfy { $0.policy.sharedLimit == nil })
            #expect(try await make("mail", ["name": "mail-new"]) == 303)
            #expect(try await change("ops", ["sharedLimit": "gpu"]) == 303)
            #expect(try await change("mail", ["capacity": "9"]) == 303)
            #expect(try await change("mail", ["sharedLimit": ""]) == 403)
        }
    }

    @Test func aTokenOfSomeQueuesSeesThose() async throws {
        let store = try await PageTests.store()
        try await TestServer.run(store: store, tokens: try tokens()) { server in
            let overview = try await server.page("/", headers: cookie("mail"))
            #expect(overview.text.contains("/queues/mail") && !overview.text.contains("/queues/hold"))
            #expect(!overview.text.contains("class=\"chart\""))
            for (path, status) in [
                ("/queues/hold", 403), ("/messages/2", 404), ("/messages/2/payload", 404), ("/messages/1", 200),
                ("/workflows", 403), ("/workflows/build", 403), ("/audit", 403), ("/doctor", 403),
                ("/schedules/nightly", 404), ("/queues", 403),
            ] {
                #expect(try await server.page(path, headers: cookie("mail")).status == status, "\(path)")
            }
            #expect(!(try await server.page("/workers", headers: cookie("mail")).text.contains("hold")))
            #expect(!(try await server.page("/schedules", headers: cookie("mail")).text.contains("nightly")))
        }
    }

    /// What workers have in hand of other queues is none of his business, however much that is.
    @Test func aTokenOfSomeQueuesSeesTheWorkersOfThose() async throws {
        let store = PenstockStore(TestDatabase().open())
        for (name, count, worker) in [("hold", 600, "theirs"), ("hold", 2, "ours"), ("mail", 1, "ours")] {
            let queue = try await store.queue(name)
            try await queue.enqueue((0..<count).map { _ in NewMessage(payload: [1]) })
            let claim = try await store.storage.claim(
                ClaimRequest(
                    queue: queue.name, limit: count, lease: .seconds(60), remoteWorker: WorkerName(worker)))
            #expect(claim.messages.count == count)
        }
        try await TestServer.run(store: store, tokens: try tokens()) { server in
            let part = try await server.page("/workers", headers: cookie("mail"))
            #expect(part.text.contains("/messages/603") && !part.text.contains("hold"))
            #expect(part.text.contains("ours") && !part.text.contains("theirs"))
            #expect(part.text.contains(/ours<\/th>.*data-label="has">1<\/td>/))
            let whole = try await server.page("/workers", headers: cookie("look"))
            #expect(whole.text.contains(/ours<\/th>.*data-label="has">3<\/td>/) && whole.text.contains("theirs"))
            #expect(whole.text.contains("There are more"))
            #expect(try await !server.page("/", headers: cookie("mail")).text.contains("workers alive"))
            #expect(try await server.page("/", headers: cookie("look")).text.contains("workers alive"))
        }
    }

    /// An answer of the store ends where its messages carry many bytes.
    @Test func allThatWorkersHaveIsShownHoweverManyBytesItCarries() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail")
        let heavy = NewMessage(payload: [], headers: ["x": String(repeating: "x", count: 16_000)])
        for _ in 1...3 { try await queue.enqueue([NewMessage](repeating: heavy, count: 100)) }
        _ = try await store.storage.claim(ClaimRequest(queue: queue.name, limit: 300, lease: .seconds(60)))
        let page = try await store.storage.messages(MessageQuery(states: [.leased], limit: 300))
        #expect(page.next != nil && page.count < 300)
        try await TestServer.run(store: store, tokens: try tokens()) { server in
            for token in ["look", "mail"] {
                let text = try await server.page("/workers", headers: cookie(token)).text
                #expect(text.matches(of: /href="\/messages\/[0-9]+"/).count == 300)
                #expect(!text.contains("There are more"))
            }
        }
    }

    @Test func readOnlyShowsNoActAndCarriesOutNone() async throws {
        let store = try await PageTests.store()
        try await TestServer.run(store: store, tokens: try tokens(), isReadOnly: true) { server in
            let page = try await server.page("/queues/mail", headers: cookie("ops"))
            #expect(page.text.contains("read-only") && !page.text.contains("/pause"))
            for form in ["/queues", "/queues/mail/policy"] {
                let status = try await server.page(form, headers: cookie("ops")).status
                #expect(status == 403, "\(form) is nothing but a form")
            }
            #expect(try await server.submit("/queues/mail/pause", headers: cookie("ops")).status == 403)
            #expect(try await server.submit("/login", ["token": "\(Self.key)-ops"]).status == 303)
            #expect(try await server.submit("/doctor", headers: cookie("ops")).status == 200, "It only looks.")
            #expect(try await server.submit("/v1/queues/mail/messages", headers: cookie("ops")).status == 403)
        }
    }

    @Test func aPageOfAnotherSiteDoesNothing() async throws {
        let store = try await PageTests.store()
        try await TestServer.run(store: store) { server in
            let refused = try await server.submit("/messages/1/redrive", headers: ["Sec-Fetch-Site": "cross-site"])
            #expect(refused.status == 403)
            #expect(try await store.message(SequenceNumber(1)).state == .dead)
            let notAForm = try await server.request(
                "POST", "/queues/mail/enqueue", headers: ["Content-Type": "text/plain"])
            #expect(notAForm.status == 415)
        }
    }
}
