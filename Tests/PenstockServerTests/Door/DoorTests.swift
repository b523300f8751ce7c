import Foundation
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@Suite struct DoorTests {
    private static let key = "0123456789abcdef"

    private func tokens() throws -> Tokens {
        try Tokens(
            """
            # who may do what
            ops   \(Self.key)-ops   read,produce,consume,operate
            shop  \(Self.key)-shop  produce  orders,mail-*
            """)
    }

    private func store(_ queues: String...) async throws -> PenstockStore {
        let store = PenstockStore(TestDatabase().open())
        for queue in queues { _ = try await store.queue(queue, of: [UInt8].self) }
        return store
    }

    @Test(arguments: [
        ("PUT", "/v1/queues/q/messages", "GET, HEAD, POST"), ("DELETE", "/healthz", "GET, HEAD"),
        ("GET", "/v1/settlements", "POST"), ("OPTIONS", "/v1/queues", "GET, HEAD"), ("PATCH", "/", "GET, HEAD"),
        ("TRACE", "/v1/queues", "GET, HEAD"), ("PROPFIND", "/v1/queues/q/messages", "GET, HEAD, POST"),
    ])
    func whatMethodsThereAreIsSaid(_ method: String, _ path: String, _ allowed: String) async throws {
        try await TestServer.run { server in
            let response = try await server.request(method, path)
            #expect(response.status == 405)
            #expect(response.header("Allow") == allowed)
            #expect(try response.json()["code"] as? String == "methodNotAllowed")
        }
    }

    @Test func withoutATokenNothingElseIsAnswered() async throws {
        try await TestServer.run(tokens: try tokens()) { server in
            let none = try await server.request("GET", "/v1/queues")
            #expect(none.status == 401)
            #expect(none.header("WWW-Authenticate") == "Bearer realm=\"penstock\"")
            let wrong = try await server.request(
                "GET", "/v1/queues", headers: ["Authorization": "Bearer 0123456789abcdef-op"])
            #expect(wrong.status == 401)
            let right = try await server.request(
                "GET", "/v1/queues", headers: ["Authorization": "Bearer 0123456789abcdef-ops"])
            #expect(right.status == 200)
        }
    }

    /// A browser behind a proxy with a password of its own sends that with each request, beside the cookie of the dashboard.
    @Test(arguments: [
        (["Authorization": "Basic YWRhOnB3", "Cookie": "penstock_token=\(key)-ops"], 200),
        (["Authorization": "Basic YWRhOnB3"], 401),
        (["Authorization": "Basic YWRhOnB3", "Cookie": "penstock_token=\(key)-op"], 401),
        (["Authorization": "Bearer \(key)-op", "Cookie": "penstock_token=\(key)-ops"], 401),
        (["Authorization": "Bearer", "Cookie": "penstock_token=\(key)-ops"], 401),
        (["Authorization": "bearer  \(key)-ops"], 200),
    ])
    func aPasswordForAProxyHidesNoCookie(headers: [String: String], status: Int) async throws {
        try await TestServer.run(tokens: try tokens()) { server in
            let answer = try await server.request("GET", "/v1/queues", headers: headers)
            #expect(answer.status == status)
        }
    }

    @Test func aTokenIsForItsScopesAndQueues() async throws {
        let store = try await store("orders", "mail-eu", "other")
        try await TestServer.run(store: store, tokens: try tokens()) { server in
            let shop = ["Authorization": "Bearer \(Self.key)-shop"]
            for (queue, status) in [("orders", 201), ("mail-eu", 201), ("other", 403)] {
                let response = try await server.request(
                    "POST", "/v1/queues/\(queue)/messages", headers: shop, body: Data("x".utf8))
                #expect(response.status == status, "\(queue)")
            }
            #expect(try await server.request("GET", "/v1/queues/orders", headers: shop).status == 403)
        }
    }

    /// To place that cursor ends the log for all who add to it.
    @Test func whoMayOnlyReadALogEndsItForNobody() async throws {
        let store = try await store("orders")
        let tokens = try Tokens("in \(Self.key)-in consume\nout \(Self.key)-out produce")
        try await TestServer.run(store: store, tokens: tokens) { server in
            for (token, cursor, status) in [
                ("in", "reader", 200), ("in", "penstock.completion", 403), ("out", "penstock.completion", 200),
            ] {
                let response = try await server.request(
                    "PUT", "/v1/queues/orders/cursors/\(cursor)",
                    headers: ["Authorization": "Bearer \(Self.key)-\(token)"],
                    body: Data("{}".utf8))
                #expect(response.status == status, "\(token), \(cursor): \(response.text)")
            }
        }
    }

    @Test func anotherHostIsRefusedWhereNoTokenIsAskedFor() async throws {
        try await TestServer.run(hosts: ["queue.example"]) { server in
            for (host, status) in [("evil.example", 421), ("queue.example:80", 200)] {
                let response = try await server.request("GET", "/v1/queues", headers: ["Host": host])
                #expect(response.status == status)
            }
        }
    }

    @Test func namesOfHostsAreWhatARequestMaySay() {
        for name in ["queue.example", "a_b-1", "127.0.0.1", "::1"] { #expect(HostCheck.isName(name), "\(name)") }
        for text in ["", "a b", "queue.example:80", "[::1]", "http://x", "x/y"] {
            #expect(!HostCheck.isName(text), "\(text)")
        }
    }

    @Test(arguments: [
        (["Sec-Fetch-Site": "cross-site"], 403), (["Sec-Fetch-Site": "same-site"], 403),
        (["Sec-Fetch-Site": "same-origin"], 201), (["Sec-Fetch-Site": "none"], 201),
        (["Origin": "http://evil.example"], 403), (["Origin": "null"], 403), ([:], 201),
    ])
    func aPageOfAnotherSiteChangesNothing(headers: [String: String], status: Int) async throws {
        try await TestServer.run(store: try await store("mail")) { server in
            let response = try await server.request(
                "POST", "/v1/queues/mail/messages", headers: headers, body: Data("x".utf8))
            #expect(response.status == status)
        }
    }

    @Test func readOnlyChangesNothing() async throws {
        try await TestServer.run(store: try await store("mail"), isReadOnly: true) { server in
            let response = try await server.request("POST", "/v1/queues/mail/messages", body: Data("x".utf8))
            #expect(response.status == 403)
            let problem = try response.json()
            #expect(problem["code"] as? String == "readOnly")
            #expect(try await server.request("GET", "/v1/queues/mail").status == 200)
        }
    }

    @Test func responsesAreWhatTheySay() async throws {
        try await TestServer.run { server in
            let response = try await server.request("GET", "/nowhere")
            #expect(response.status == 404)
            #expect(response.header("X-Content-Type-Options") == "nosniff")
            #expect(response.header("Cross-Origin-Resource-Policy") == "same-origin")
            #expect(response.header("Content-Type") == "application/problem+json")
            let problem = try response.json()
            #expect(problem["status"] as? Int == 404)
            #expect((problem["detail"] as? String)?.contains("/openapi.json") == true)
            let page = try await server.request("GET", "/nowhere", headers: ["Accept": "text/html,*/*;q=0.8"])
            #expect(page.status == 404)
            #expect(page.header("Content-Type") == "text/html; charset=utf-8")
            #expect(page.text.contains("There is no such page."))
            // An act that was refused leaves its address in the browser, and people look at it once more.
            let form = try await server.request("GET", "/dead/redrive", headers: ["Accept": "text/html,*/*;q=0.8"])
            #expect(form.status == 405 && form.header("Allow") == "POST")
            #expect(form.text.contains("Forms are sent here; this is no page."))
            for path in ["/v1/nothing", "/v1/claims"] {
                let answer = try await server.request("GET", path, headers: ["Accept": "text/html"])
                #expect(answer.header("Content-Type") == "application/problem+json", "\(path)")
            }
        }
    }

    @Test(arguments: [
        "", "ops", "ops 0123456789abcdef", "ops short read", "ops 0123456789abcdef fly",
        "a 0123456789abcdef read\na 0123456789abcdeF read", "a 0123456789abcdef read\nb 0123456789abcdef read",
        "a 0123456789abcdef read q more", "a 0123456789abcdeü read", "a 0123456789abcdef read, produce",
        "a 0123456789abcdef ,read", "a 0123456789abcdef read mail,,", "a 0123456789abcdef read *x*",
    ])
    func refusesFilesOfTokens(text: String) {
        let error = #expect(throws: PenstockError.self) { try Tokens(text) }
        #expect(error?.code == .invalidInput)
    }

    /// An editor of Windows writes them so.
    @Test func linesOfAFileOfTokensMayEndInTwoBytes() throws {
        let tokens = try Tokens("# who\r\nops 0123456789abcdef read q\r\nshop 0123456789abcdefg read\r\n")
        let ops = try #require(tokens.principal(showing: "0123456789abcdef"))
        #expect(ops.may(.read, QueueName(stored: "q")))
        #expect(tokens.principal(showing: "0123456789abcdefg")?.name == "shop")
    }

    /// The dashboard keeps a token in a cookie, which would end at a semicolon.
    @Test func aTokenIsWhatACookieMayBe() throws {
        for character in #";,"\#u{5C}\#u{7F}\#u{1}é"# {
            let text = "# tokens\na 0123456789abcde\(character)f read"
            let error = #expect(throws: PenstockError.self, "\(character)") { try Tokens(text) }
            #expect(error?.message.hasPrefix("Line 2 of the file of tokens has a token with a character") == true)
            #expect(error?.message.contains("0123456789") == false)
        }
        let secret = "!#$%&'()*+-./09:<=>?@AZ[]^_`az{|}~"
        #expect(try Tokens("a \(secret) read").principal(showing: secret)?.name == "a")
    }

    /// Its clients would look at their tokens, and end.
    @Test func aStoreThatDoesNotAllowTheServerSomethingIsAwayToClients() async throws {
        let faulty = FaultyStore(TestDatabase().open())
        try await TestServer.run(store: PenstockStore(faulty)) { server in
            faulty.fail(every: [.status], with: PenstockError(.forbidden, "The database does not let this user in."))
            let answer = try await server.request("GET", "/v1/queues")
            #expect(answer.status == 503)
            #expect(try answer.json()["code"] as? String == "unreachable")
            faulty.heal()
        }
    }

    /// A supervisor sends nobody there, and starts nothing anew. No token is shown, and no place of the machine is told.
    @Test func aStoreThatFailsIsNotReady() async throws {
        let faulty = FaultyStore(TestDatabase().open())
        try await TestServer.run(store: PenstockStore(faulty), tokens: try tokens()) { server in
            faulty.fail(every: [.status], with: PenstockError(.corrupt, "/srv/secret.db is damaged."))
            let answer = try await server.request("GET", "/readyz")
            #expect(answer.status == 503 && answer.header("Retry-After") == "1")
            #expect(try answer.json()["code"] as? String == "corrupt")
            #expect(!answer.text.contains("secret"))
            #expect(try await server.request("GET", "/healthz").status == 200)
            faulty.heal()
            #expect(try await server.request("GET", "/readyz").status == 200)
        }
    }

    /// Supervisors may ask for the head alone.
    @Test func healthIsToldWithoutAToken() async throws {
        try await TestServer.run(tokens: try Tokens("a 0123456789abcdef read")) { server in
            for method in ["GET", "HEAD"] {
                for path in ["/healthz", "/readyz"] {
                    let status = try await server.send(method, path).status
                    #expect(status == 200, "\(method) \(path)")
                }
            }
        }
    }

    @Test(arguments: [("", "cannot be empty"), ("/dev/null", "is no file of tokens"), ("/tmp", "is no file of tokens")])
    func whatIsNoFileOfTokensIsSaid(path: String, words: String) throws {
        let error = #expect(throws: PenstockError.self) { try Tokens.read(path) }
        #expect(error?.code == .invalidInput && error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    /// A secret that is mounted as a link has the mode of its file.
    @Test func aFileOfTokensMayBeALink() throws {
        let folder = TemporaryFolder()
        let (file, link) = (folder.file("tokens"), folder.file("link"))
        try Data("a 0123456789abcdef read".utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        #expect(try Tokens.read(link).token(named: "a") != nil)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
        #expect(throws: PenstockError.self) { try Tokens.read(link) }
    }
}
