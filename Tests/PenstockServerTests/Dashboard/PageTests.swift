import Foundation
import Penstock
import PenstockCore
import PenstockDashboard
import PenstockTestKit
import Testing

@testable import PenstockDashboard

@Suite struct PageTests {
    /// A store in which every page has something to show.
    static func store() async throws -> PenstockStore {
        let store = PenstockStore(TestDatabase().open())
        let mail = try await store.queue("mail", policy: QueuePolicy(groups: .fifo(onDead: .hold)))
        try await mail.enqueue([NewMessage(payload: Array("{\"to\":[1,2]}".utf8), headers: ["kind": "x"], group: "a")])
        let failed = try await store.storage.claim(ClaimRequest(queue: mail.name, limit: 1, lease: .seconds(60)))
        let lease = try #require(failed.messages.first).lease
        _ = try await store.storage.settle([Settlement(lease, .dead(error: "disk 7 is full\nand more"))])
        let hold = try await store.queue("hold")
        try await hold.enqueue([
            NewMessage(payload: [0, 255]), NewMessage(payload: Array("later".utf8), due: .after(.seconds(60))),
        ])
        _ = try await store.storage.claim(ClaimRequest(queue: hold.name, limit: 1, lease: .seconds(60)))
        try await store.storage.schedule(
            ScheduleName("nightly"),
            .put(
                Schedule(queue: hold.name, spec: "@daily", message: NewMessage(payload: Array("x".utf8))),
                replacing: false))
        _ = try await store.storage.start(
            NewWorkflow(
                WorkflowName("build"),
                tasks: [
                    NewTask(TaskName("fetch"), queue: hold.name, message: NewMessage(payload: [])),
                    NewTask(
                        TaskName("compile"), queue: hold.name, message: NewMessage(payload: []),
                        dependencies: [Dependency(on: TaskName("fetch"))]),
                ]), durability: .powerLoss)
        return store
    }

    @Test(arguments: [
        ("/", "mail"), ("/?sort=dead&name=mai", "mail"), ("/?span=16h", "16 hours"), ("/queues", "A new queue"),
        ("/queues/mail", "Policy"), ("/queues/mail?span=15m", "15 minutes"), ("/queues/mail/policy", "Capacity"),
        ("/queues/mail/log", "accepted"), ("/queues/mail/replay?count=10", "1 message would be put in line"),
        ("/messages/1", "disk 7 is full"), ("/messages/1?show=hex", "7b 22"), ("/messages/2", "00 ff"),
        ("/workers", "in hand"), ("/schedules", "nightly"), ("/schedules/nightly", "@daily"), ("/workflows", "build"),
        ("/workflows/build", "compile"), ("/audit", "Nobody has done anything"), ("/doctor", "This store is no file"),
    ])
    func isThere(path: String, text: String) async throws {
        try await TestServer.run(store: try await Self.store(), name: "staging") { server in
            let page = try await server.page(path)
            #expect(page.status == 200, "\(page.text)")
            #expect(page.text.contains(text), "\(page.text)")
            #expect(page.header("Content-Type") == "text/html; charset=utf-8")
            let policy = try #require(page.header("Content-Security-Policy"))
            #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
            #expect(page.header("X-Content-Type-Options") == "nosniff")
            #expect(page.header("Cross-Origin-Resource-Policy") == "same-origin")
            #expect(page.text.contains("<title>") && page.text.contains("staging"))
            // Nothing inline: the policy would keep it from working.
            for forbidden in [" style=", "<style", " onclick=", "javascript:"] {
                #expect(!page.text.contains(forbidden))
            }
            #expect(page.text.components(separatedBy: "<script").count == 2)
            // Every mark of a template was filled in.
            #expect(!page.text.contains("{{"))
        }
    }

    @Test(arguments: [
        ("/?sort=size", 400), ("/?page=0", 400), ("/?nothing=1", 400), ("/queues/none", 404), ("/messages/99", 404),
        ("/messages/x", 400), ("/messages/0", 400), ("/queues/mail/log?last=100000", 400), ("/schedules/none", 404),
        ("/workflows/none", 404), ("/queues/%FF", 400), ("/queues/mail?span=", 200),
        ("/queues/mail/replay?since=soon", 400),
        ("/messages/1?show=pdf", 400), ("/queues/mail/replay?count=10001", 400),
    ])
    func wrongInputIsSaid(path: String, status: Int) async throws {
        try await TestServer.run(store: try await Self.store()) { server in
            let page = try await server.page(path)
            #expect(page.status == status, "\(page.text)")
            #expect(page.header("Content-Type") == "text/html; charset=utf-8")
        }
    }

    @Test func schedulesAreShownByPages() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("q")
        for number in 100...200 { try await queue.schedule("s\(number)", "@daily", [1]) }
        try await TestServer.run(store: store) { server in
            let first = try await server.page("/schedules").text
            #expect(first.contains(">s199</a>") && !first.contains(">s200</a>"))
            #expect(first.contains("href=\"/schedules?after=s199\" rel=\"next\""), "\(first)")
            let last = try await server.page("/schedules?after=s199").text
            #expect(last.contains(">s200</a>") && !last.contains("rel=\"next\""), "\(last)")
            #expect(last.contains("<a href=\"/schedules\">first</a>"), "\(last)")
            let behind = try await server.page("/schedules?after=t").text
            #expect(
                behind.contains("There is no schedule here.") && !behind.contains("penstock schedule add"), "\(behind)")
        }
    }

    @Test(arguments: [
        ("/queues/none", "it has to be made first"), ("/workflows/none", "the page Workflows names"),
        ("/schedules/none", "the page Schedules names"),
    ])
    func aProblemNamesThePageThatHelps(path: String, advice: String) async throws {
        try await TestServer.run(store: try await Self.store()) { server in
            let text = try await server.page(path).text
            #expect(text.contains(advice) && !text.contains("/v1/") && !text.contains("`penstock"), "\(text)")
        }
    }

    @Test func assetsAreKeptByBrowsersAndChangeTheirAddress() async throws {
        try await TestServer.run { server in
            let page = try await server.page("/")
            for asset in [Assets.style, Assets.script] {
                #expect(page.text.contains(asset.path))
                let response = try await server.page(asset.path)
                #expect(response.status == 200)
                #expect(response.header("Cache-Control")?.contains("immutable") == true)
            }
            #expect(try await server.page("/assets/style-0.css").status == 404)
        }
    }

    /// A key that no page names is pressed by nobody; without the script there is none.
    @Test func everyKeyIsNamedAtTheFootOfEachPage() async throws {
        let script = EmbeddedFile.text(of: "script.js")
        let places = try #require(script.firstMatch(of: #/const places = \{(.*?)\};/#)).output.1
        let keys = places.matches(of: #/([a-z]): "\/([a-z]*)"/#).map { (key: $0.output.1, path: "/\($0.output.2)") }
        #expect(keys.count > 4 && keys.allSatisfy { key in Section.allCases.contains { $0.path == key.path } })
        try await TestServer.run { server in
            let page = try await server.page("/").text
            let foot = try #require(page.firstMatch(of: #/<span class="keys" hidden>(.*?)<\/span>/#)).output.1
            for (key, path) in keys { #expect(foot.contains("<kbd>\(key)</kbd>"), "\(path)") }
        }
    }

    @Test func everyTemplateCanBeRead() {
        for name in Templates.names { #expect(!Templates.render(name, [:]).isEmpty, "\(name)") }
    }

    @Test func aPayloadIsAFile() async throws {
        try await TestServer.run(store: try await Self.store()) { server in
            let file = try await server.page("/messages/2/payload")
            #expect(file.body == Data([0, 255]))
            #expect(file.header("Content-Type") == "application/octet-stream")
            #expect(file.header("Content-Disposition") == "attachment; filename=\"message-2.bin\"")
            #expect(file.header("X-Content-Type-Options") == "nosniff")
        }
    }

    /// It reads the whole file, so no page of another site may have it done.
    @Test func theDoctorLooksAtTheFileWhenItsFormAsks() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("penstock.db")
        try await PenstockStore.open(path: path).close()
        try await TestServer.run(path: path) { server in
            let page = try await server.page("/doctor")
            #expect(page.forms(to: "/doctor") == [[:]] && !page.text.contains("Findings"))
            #expect(try await server.page("/doctor?run=true").status == 400)
            let refused = try await server.submit("/doctor", headers: ["Sec-Fetch-Site": "cross-site"])
            #expect(refused.status == 403)
            let report = try await server.submit("/doctor")
            #expect(report.status == 200 && report.text.contains("All is well"))
        }
    }

    /// The address is shown as people are told of it, and what is wrong is told as of a file.
    @Test func theDoctorLooksAtADatabase() async throws {
        var report = HealthReport(path: "", schemaVersionKnown: 1)
        report.findings = [HealthFinding(.noVacuum, .error, "The server runs with autovacuum = off <b>")]
        let health = HealthSource(database: "postgres://db.example/shop") { [report] in report }
        try await TestServer.run(health: health) { server in
            let page = try await server.page("/doctor")
            #expect(page.text.contains("postgres://db.example/shop") && page.text.contains("server’s settings"))
            let looked = try await server.submit("/doctor")
            #expect(looked.status == 200 && looked.text.contains("autovacuum = off &lt;b&gt;"))
            #expect(!looked.text.contains("All is well"))
        }
        let away = HealthSource(database: "postgres://db.example/shop") {
            throw PenstockError(.unreachable, "The database cannot be reached.")
        }
        try await TestServer.run(health: away) { server in
            let looked = try await server.submit("/doctor")
            #expect(looked.status == 503 && looked.text.contains("The database cannot be reached."))
        }
    }

    @Test func aQueueMayBeCalledNew() async throws {
        let store = PenstockStore(TestDatabase().open())
        _ = try await store.queue("new")
        try await TestServer.run(store: store) { (server) async throws in
            #expect(try await server.page("/queues/new").text.contains("<h1>new</h1>"))
            #expect(try await server.submit("/queues/new/pause").status == 303)
        }
    }

    /// A page of the log that large payloads fill has the older ones of the last messages.
    @Test func theEndOfALogIsShownHoweverLargeItsPayloadsAre() async throws {
        let store = PenstockStore(TestDatabase().open())
        for name in ["mail", Audit.queue.text] {
            let large = [UInt8](repeating: 1, count: 3 * 1024 * 1024)
            try await store.queue(name).enqueue([large, large, large].map { NewMessage(payload: $0) })
        }
        try await TestServer.run(store: store) { server in
            let log = try await server.page("/queues/mail/log")
            #expect(log.text.contains("/messages/3") && !log.text.contains("newer →"))
            #expect(try await server.submit("/queues/mail/pause").status == 303)
            #expect(try await server.page("/audit").text.contains("pause queue"))
        }
    }

    @Test func aLongJournalIsShownInPart() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail")
        try await queue.enqueue([1])
        let claim = try await store.storage.claim(ClaimRequest(queue: queue.name, limit: 1, lease: .seconds(60)))
        let lease = try #require(claim.messages.first).lease
        for number in 1...20 {
            let text = "step \(number): " + String(repeating: "x", count: 60 * 1024)
            _ = try await store.storage.record(
                StepName("s\(number)"), result: Array(text.utf8), on: lease, extendingBy: nil, durability: .powerLoss)
        }
        try await TestServer.run(store: store) { server in
            let page = try await server.page("/messages/1")
            #expect(page.text.contains("step 4:") && !page.text.contains("step 5:") && page.text.contains("s20"))
            #expect(page.text.utf8.count < 512 * 1024)
        }
    }

    @Test func theEndOfALeaseIsTold() async throws {
        let time = ManualTime()
        let store = PenstockStore(TestDatabase(time: time).open(), options: .init(time: time))
        let queue = try await store.queue("mail")
        try await queue.enqueue([1])
        _ = try await store.storage.claim(ClaimRequest(queue: queue.name, limit: 1, lease: .seconds(60)))
        time.advance(by: .milliseconds(500))
        try await TestServer.run(store: store) { server in
            let workers = try await server.page("/workers").text
            let cell = /data-label="lease ends"><time datetime="2025-01-01T00:01:00\.000000Z"[^>]*>in 59s</
            #expect(workers.contains(cell), "\(workers)")
            let message = try await server.page("/messages/1").text
            let line = /"ahead"><time datetime="2025-01-01T00:01:00\.000000Z".*>in 59s<\/span> end of its lease</
            #expect(message.contains(line), "\(message)")
        }
    }

    @Test func whatManyTasksATaskWaitsForIsShownInPart() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail").name
        let message = NewMessage(payload: [])
        let names = try (10..<35).map { try TaskName("t\($0)") }
        let tasks =
            names.map { NewTask($0, queue: queue, message: message) }
            + [
                NewTask(
                    try TaskName("last"), queue: queue, message: message,
                    dependencies: names.map { Dependency(on: $0) })
            ]
        _ = try await store.storage.start(NewWorkflow(WorkflowName("wide"), tasks: tasks), durability: .powerLoss)
        try await TestServer.run(store: store) { server in
            let page = try await server.page("/workflows/wide").text
            #expect(page.contains("t28, t29 and 5 more<") && page.contains("class=\"graph\""))
        }
    }

    @Test func whatWaitsInAGroupIsCountedToABound() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail", policy: QueuePolicy(groups: .fifo()))
        try await queue.enqueue((0...1001).map { _ in NewMessage(payload: [1], group: "a") })
        try await TestServer.run(store: store) { (server) async throws in
            #expect(try await server.page("/queues/mail").text.contains(">&gt;\u{202F}1\u{202F}000</td>"))
            _ = try await store.storage.apply(.cancel, to: [SequenceNumber(5)])
            #expect(try await server.page("/queues/mail").text.contains(">1\u{202F}000</td>"))
        }
    }

    @Test func manyQueuesComeAPageAtATime() async throws {
        let store = PenstockStore(TestDatabase().open())
        for number in 100..<350 { _ = try await store.queue("q\(number)") }
        try await TestServer.run(store: store) { server in
            let first = try await server.page("/")
            #expect(first.text.contains("q199") && !first.text.contains("q200") && first.text.contains("250 queues"))
            #expect(first.text.contains("href=\"/?page=2\""))
            let third = try await server.page("/?page=3")
            #expect(third.text.contains("q349") && !third.text.contains("rel=\"next\""))
            let found = try await server.page("/?name=Q34")
            #expect(found.text.contains("10 queues") && found.text.contains("q345"))
        }
    }
}
