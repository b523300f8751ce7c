import Hummingbird
import Logging
import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import Testing

@testable import PenstockDashboard
@testable import PenstockServer

/// Every act of the pages: whoever may only look carries none out.
@Suite struct ActRightsTests {
    private static let key = "0123456789abcdef"

    /// What a form sends, and to where.
    private struct Act {
        /// The route that it leads to.
        var route: String
        var path: String
        var fields: [String: String] = [:]
    }

    /// One for each route, in an order in which each can be carried out.
    private func acts(_ server: TestServer) async throws -> [Act] {
        let policy = try await server.page("/queues/hold/policy", headers: cookie("ops"))
        let shown = try #require(policy.forms(to: "/queues/hold/policy").first?["shown"])
        let dead = try await server.page("/dead", headers: cookie("ops"))
        func letter(_ number: String, _ word: String) throws -> [String: String] {
            try #require(dead.forms(to: "/dead/\(word)").first { $0["example"] == number })
        }
        let (queue, message, schedule) = ("/queues/{queue}", "/messages/{sequence}", "/schedules/{schedule}")
        return [
            Act(route: "/queues", path: "/queues", fields: ["name": "new"]),
            Act(route: "\(queue)/policy", path: "/queues/hold/policy", fields: ["shown": shown]),
            Act(route: "\(queue)/pause", path: "/queues/mail/pause"),
            Act(route: "\(queue)/resume", path: "/queues/mail/resume"),
            Act(route: "\(queue)/groups/pause", path: "/queues/mail/groups/pause?group=a"),
            Act(route: "\(queue)/groups/resume", path: "/queues/mail/groups/resume?group=a"),
            Act(route: "\(queue)/replay", path: "/queues/mail/replay", fields: ["messages": "1"]),
            Act(route: "/workflows/{workflow}/cancel", path: "/workflows/build/cancel"),
            // One message is left that waits there.
            Act(route: "\(queue)/cancel", path: "/queues/hold/cancel", fields: ["expected": "1"]),
            Act(route: "\(queue)/enqueue", path: "/queues/hold/enqueue", fields: ["payload": "x"]),
            Act(route: "/dead/redrive", path: "/dead/redrive", fields: try letter("6", "redrive")),
            Act(route: "/dead/discard", path: "/dead/discard", fields: try letter("7", "discard")),
            Act(route: "\(message)/redrive", path: "/messages/8/redrive"),
            Act(route: "\(message)/discard", path: "/messages/9/discard"),
            Act(route: "\(message)/cancel", path: "/messages/2/cancel"),
            Act(route: "\(schedule)/pause", path: "/schedules/nightly/pause"),
            Act(route: "\(schedule)/resume", path: "/schedules/nightly/resume"),
            Act(route: "\(schedule)/run", path: "/schedules/nightly/run"),
            Act(route: "\(schedule)/remove", path: "/schedules/nightly/remove"),
            Act(route: "\(queue)/delete", path: "/queues/mail/delete", fields: ["name": "mail", "force": "true"]),
        ]
    }

    /// The store of the pages, with the messages 6 to 9, which have died each in its own way.
    private func store() async throws -> PenstockStore {
        let store = try await PageTests.store()
        try await store.putDeadLetters(in: "failing", ["no disk", "no host", "no time", "no word"])
        return store
    }

    private func cookie(_ name: String) -> [String: String] { ["Cookie": "penstock_token=\(Self.key)-\(name)"] }

    private func withServer(
        _ store: PenstockStore, _ body: @escaping @Sendable (TestServer) async throws -> Void
    ) async throws {
        let tokens = try Tokens("ops \(Self.key)-ops read,produce,operate\nlook \(Self.key)-look read")
        try await TestServer.run(store: store, tokens: tokens, body)
    }

    @Test func whoMayOnlyLookDoesNothing() async throws {
        let store = try await store()
        try await withServer(store) { server in
            let acts = try await acts(server)
            let before = try await store.queues().map(\.depths)
            for act in acts {
                let response = try await server.submit(act.path, act.fields, headers: cookie("look"))
                #expect(response.status == 403, "\(act.route): \(response.text)")
            }
            #expect(try await store.queues().map(\.depths) == before)
            #expect(try await store.queues().allSatisfy { !$0.isPaused })
        }
    }

    /// So that what refuses the others is the right that they do not have, and not what they have sent.
    @Test func whoMayOperateDoesEachOfThem() async throws {
        let store = try await store()
        try await withServer(store) { server in
            for act in try await acts(server) {
                let response = try await server.submit(act.path, act.fields, headers: cookie("ops"))
                #expect(response.status == 303, "\(act.route): \(response.text)")
            }
        }
    }

    /// An act that is new is put among these.
    @Test func noActIsLeftOut() async throws {
        let store = try await store()
        try await withServer(store) { server in
            let made = Server(
                store: store, listen: [], tokens: nil, hosts: [], isReadOnly: false, logger: Logger(label: "test"))
            let routes = made.router(made.dashboard).routes.map { "\($0.method) \($0.path)" }
                .filter { $0.hasPrefix("POST /") && !$0.hasPrefix("POST /v1/") }
            // Whoever signs in is nobody yet, and the doctor only looks.
            let others = ["POST /login", "POST /logout", "POST /doctor"]
            let known = try await acts(server).map { "POST \($0.route)" }
            #expect(Set(routes) == Set(known + others))
            #expect(known.count == Set(known).count)
        }
    }
}
