import Foundation
import Penstock
import PenstockCore
import PenstockFormats
import PenstockTestKit
import Testing

@testable import PenstockDashboard

/// Numbers and times at the ends of what there can be. Any page of the web can ask for an address, so each has an answer.
@Suite struct ExtremeTests {
    private static let numbers = [
        "0", "1", "-1", "9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "-9223372036854775809", "18446744073709551616", "1e308", "nan", "-inf", "",
    ]
    private static let times = [
        "-106751991d", "+106751991d", "-9223372036854775807us", "+9223372036854775807us", "0000-01-01",
        "9999-12-31T23:59:60.999999999-23:59", "0000-01-01T00:00+23:59", "-0", "+0",
    ]
    private static let durations = ["0", "1us", "106751991d", "9223372036854775807us", "9223372036854775808us", "-1s"]

    private func reach(_ server: TestServer, _ path: String) async throws {
        let status = try await server.page(path).status
        #expect([200, 400, 404].contains(status), "\(path): \(status)")
    }

    private func send(_ server: TestServer, _ path: String, _ fields: [String: String]) async throws {
        let status = try await server.submit(path, fields).status
        #expect([303, 400, 404, 409].contains(status), "\(path) \(fields): \(status)")
    }

    private func seeAllPages(_ server: TestServer) async throws {
        for number in Self.numbers {
            for path in [
                "/messages?after=", "/messages?preceding=", "/messages?after=0&preceding=",
                "/messages?preceding=1&after=",
                "/messages?state=dead&after=", "/messages?key=k&after=", "/messages?queue=mail&text=x&preceding=",
                "/dead?preceding=", "/?page=", "/queues/mail/log?after=", "/queues/mail/log?last=",
                "/queues/mail/log?preceding=", "/workflows?preceding=", "/workflows?after=1&preceding=",
                "/queues/mail/replay?count=", "/workflows?after=", "/workflows/build?after=", "/messages/",
            ] { try await reach(server, path + number) }
            try await reach(server, "/messages/\(number)/payload")
        }
        for time in Self.times.map({ URLText.escape($0) }) {
            for path in [
                "/messages?since=", "/messages?before=", "/messages?queue=mail&state=dead&before=",
                "/queues/mail/replay?since=", "/queues/mail/replay?before=",
            ] { try await reach(server, path + time) }
        }
    }

    private func sendAllForms(_ server: TestServer) async throws {
        for number in Self.numbers {
            try await send(server, "/queues/mail/cancel", ["expected": number])
            for field in ["expected", "example"] {
                let group = ["queue": "mail", "example": "1", "shown": "x", "expected": "1"]
                try await send(server, "/dead/redrive", group.merging([field: number]) { $1 })
            }
            for text in [number, "1-\(number)", "\(number)-9223372036854775807", "1,\(number)"] {
                try await send(server, "/queues/mail/replay", ["messages": text])
            }
            for field in ["priority", "attempts", "delay"] {
                try await send(server, "/queues/mail/enqueue", ["group": "a", field: number])
            }
            for field in [
                "capacity", "attemptsMax", "retryFactor", "retryJitter", "keepCount", "limitPerKey", "limit",
            ] {
                let name = "\(number) \(field)"
                try await send(server, "/queues", ["name": name, "groups": "limit", field: number])
            }
            for (rate, burst) in [("\(number)/1s", "1"), ("1/\(number)d", "1"), ("1/1s", number)] {
                let name = "\(rate) \(burst) rate"
                try await send(server, "/queues", ["name": name, "rate": rate, "burst": burst])
                let perKey = ["name": "\(name) per key", "ratePerKey": rate, "burstPerKey": burst]
                try await send(server, "/queues", perKey)
            }
        }
        for duration in Self.durations {
            try await send(server, "/queues/mail/enqueue", ["group": "a", "delay": duration])
            for field in ["retryBase", "retryCap", "keepFor", "keepDeadFor"] {
                try await send(server, "/queues", ["name": "\(duration) \(field)", field: duration])
            }
        }
    }

    private func seeWhatWasMade(_ server: TestServer) async throws {
        let queues = try await server.store.queues().map { Link.queue($0.name) }
        #expect(queues.count > 10)
        for path in ["/", "/messages", "/dead", "/workers", "/audit"] + queues + queues.map({ "\($0)/policy" }) {
            // Nobody changes the policy of the audit by a form.
            let status = path == "\(Link.queue(Audit.queue))/policy" ? 403 : 200
            #expect(try await server.page(path).status == status, "\(path)")
        }
    }

    @Test func everyNumberHasAnAnswer() async throws {
        let store = try await PageTests.store()
        try await TestServer.run(store: store) { server in
            try await seeAllPages(server)
            try await sendAllForms(server)
            try await seeWhatWasMade(server)
        }
    }

    @Test func everyNumberHasAnAnswerFromAFile() async throws {
        try await TestServer.onFile(queues: ["mail": QueuePolicy(groups: .fifo(onDead: .hold))]) { server in
            let mail = try await server.store.queue("mail")
            try await mail.enqueue([NewMessage(payload: [1], group: "a"), NewMessage(payload: [2], group: "b")])
            try await seeAllPages(server)
            try await sendAllForms(server)
            try await seeWhatWasMade(server)
        }
    }

    /// Behind the last number that there can be the way back begins as anywhere else.
    @Test(arguments: ["/messages", "/queues/mail/log"])
    func theWayBackBeginsAtTheLastNumber(path: String) async throws {
        let store = PenstockStore(TestDatabase().open())
        try await store.queue("mail").enqueue([NewMessage(payload: [1])])
        try await TestServer.run(store: store) { server in
            let page = try await server.page("\(path)?after=9223372036854775807")
            #expect(page.status == 200)
            let older = try #require(page.text.firstMatch(of: /href="([^"]*preceding=[^"]*)"/)).1
            let link = String(older).replacing("&amp;", with: "&")
            #expect(try await server.page(link).text.contains("/messages/1"))
        }
    }

    @Test func runsOfNumbersAreReadAsTheyWereWritten() throws {
        let numbers = [1, 2, 3, 7, 9, 10, Int64.max - 1, Int64.max].map { SequenceNumber($0) }
        let text = SequenceRuns.text(numbers)
        #expect(text == "1-3,7,9-10,9223372036854775806-9223372036854775807")
        #expect(try SequenceRuns.parse(text, countMax: 8) == numbers)
        for wrong in [
            text + ",1", "", ",", "1,", "0", "-1", "1-", "-", "3-2", "1--2", "1-9223372036854775807", "1-2-3", "x",
            "9223372036854775808", "1-10",
        ] { #expect(throws: (any Error).self, "\(wrong)") { try SequenceRuns.parse(wrong, countMax: 8) } }
    }
}
