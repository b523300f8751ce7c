import Foundation
import Subprocess
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EnqueueTests {
    @Test func thePayloadIsTheArgumentAFileOrStandardInput() async throws {
        let tool = try await Tool.withQueue()
        let file = try tool.file("payload", "from a file\n".utf8)
        #expect(try await tool.succeed(["enqueue", "q", "an argument"]).output == "1\n")
        #expect(try await tool.succeed(["enqueue", "q", "--file", file]).output == "2\n")
        #expect(try await tool.succeed(["enqueue", "q"], input: Array("piped".utf8)).output == "3\n")
        #expect(try await tool.succeed(["enqueue", "q", "-"], input: Array("dash".utf8)).output == "4\n")
        #expect(try await tool.succeed(["enqueue", "q", ""]).output == "5\n")
        #expect(try await tool.succeed(["enqueue", "q", "--", "--lines"]).output == "6\n")
        #expect(
            try await tool.payloads("ready") == ["an argument", "from a file\n", "piped", "dash", "", "--lines"])
    }

    @Test func anyBytesPassUnharmed() async throws {
        let tool = try await Tool.withQueue()
        var random = Seeded(10)
        let payload = random.bytes(5000) + [0xFF, 0, 0x0A]
        try await tool.succeed(["enqueue", "q"], input: payload)
        #expect(try await tool.succeed(["show", "1", "--payload"]).bytes == payload)
        let shown = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(Data(base64Encoded: shown["payloadBase64"].text) == Data(payload))
        #expect(shown["payload"].isAbsent)
    }

    @Test func allOptionsReachTheMessage() async throws {
        let tool = try await Tool.withQueue()
        let day = ComingDay(month: 1, day: 31).text
        try await tool.succeed([
            "enqueue", "q", "x", "--priority", "7", "--attempts", "3", "--header", "lang=de", "--header",
            "Note=a=b",
            "--key", "k", "--at", "\(day)T08:30:00+01:00",
        ])
        let message = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(message["state"].text == "scheduled")
        #expect(message["priority"].number == 7)
        #expect(message["attemptsMax"].number == 3)
        #expect(message["headers"]["lang"].text == "de")
        #expect(message["headers"]["Note"].text == "a=b")
        #expect(message["uniqueKey"].text == "k")
        #expect(message["due"].text == "\(day)T07:30:00.000000Z")
        #expect(message["origin"].isNull)

        try await tool.succeed(["enqueue", "q", "y", "--priority", "-5", "--delay", "1h30m"])
        let other = try await tool.succeed(["show", "2", "--json"]).object()
        #expect(other["state"].text == "scheduled")
        #expect(other["priority"].number == -5)
    }

    @Test func theReceiptIsAlsoJSON() async throws {
        let tool = try await Tool.withQueue()
        let output = try await tool.succeed(["enqueue", "q", "x", "--json", "--durability", "process-crash"]).output
        #expect(
            output
                == #"{"sequence":1,"queue":"q","state":"ready","durability":"processCrash","skipped":false,"displaced":null}"#
                + "\n")
    }

    @Test func aKeyIsSkippedOrReplaced() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "first", "--key", "k"])
        let skipped = try await tool.succeed(["enqueue", "q", "second", "--key", "k"])
        #expect(skipped.output == "1\n")
        #expect(skipped.errors == "penstock: Nothing was enqueued: message 1 has that key.\n")
        let replaced = try await tool.succeed(["enqueue", "q", "third", "--key", "k", "--if-exists", "replace"])
        #expect(replaced.output == "2\n")
        #expect(replaced.errors == "penstock: Message 1 made place for this one.\n")
        #expect(try await tool.payloads("ready") == ["third"])
    }

    @Test func aKeyHasAScope() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "1", "--key", "w", "--key-scope", "while-waiting"])
        try await tool.succeed(["enqueue", "q", "2", "--key", "p", "--key-scope", "1h"])
        try await tool.succeed(["enqueue", "q", "3", "--key", "e", "--key-scope", "until-ended"])
        let scopes: [(number: String, scope: String, seconds: Double?)] = [
            ("1", "whileWaiting", nil), ("2", "period", 3600), ("3", "untilEnded", nil),
        ]
        for (number, scope, seconds) in scopes {
            let message = try await tool.succeed(["show", number, "--json"]).object()
            #expect(message["keyScope"].text == scope)
            #expect(message["keyPeriodSeconds"].number == seconds)
        }
        #expect(try await tool.succeed(["show", "1"]).output.contains("w, while it waits\n"))
        #expect(try await tool.succeed(["show", "2"]).output.contains("p, for 1h\n"))
        #expect(try await tool.succeed(["show", "3"]).output.contains("e\n"))
        try await tool.succeed(["work", "q", "--drain", "--", "cat"])
        for (key, output) in [("w", "4\n"), ("p", "2\n"), ("e", "5\n")] {
            #expect(try await tool.succeed(["enqueue", "q", "x", "--key", key]).output == output)
        }
    }

    @Test func aKeyIsThrottledOrDebounced() async throws {
        let tool = try await Tool.withQueue()
        func enqueue(_ key: String, _ delay: String, _ options: String...) async throws -> String {
            let words = ["enqueue", "q", "x", "--key", key, "--delay", delay, "--if-exists"] + options
            let number = String(try await tool.succeed(words).output.dropLast())
            return try await tool.succeed(["show", number, "--json"]).object()["due"].text
        }
        let first = try await enqueue("t", "1h", "throttle")
        #expect(try await enqueue("t", "9h", "throttle") == first)
        let early = try await enqueue("d", "1h", "debounce", "--debounce-max", "2h")
        let late = try await enqueue("d", "90m", "debounce", "--debounce-max", "2h")
        let bound = try await enqueue("d", "9h", "debounce", "--debounce-max", "2h")
        #expect(early < late && late < bound)
        #expect(try await enqueue("d", "8h", "debounce", "--debounce-max", "2h") == bound)
        #expect(try await tool.payloads("scheduled").count == 2)
    }

    @Test func aFullQueueDoesWhatItsPolicySays() async throws {
        let tool = try await Tool.withQueue("--capacity", "1", "--when-full", "drop-newest")
        try await tool.succeed(["enqueue", "q", "a"])
        let dropped = try await tool.succeed(["enqueue", "q", "b"])
        #expect(dropped.output == "2\n")
        #expect(dropped.errors == "penstock: The queue is full: message 2 was dropped, on record.\n")

        try await tool.succeed(["queue", "set", "q", "--when-full", "drop-oldest"])
        #expect(try await tool.succeed(["enqueue", "q", "c", "--json"]).object()["displaced"].number == 1)

        try await tool.succeed(["queue", "set", "q", "--when-full", "fail"])
        try await tool.fail(["enqueue", "q", "d"], with: 69, saying: "'q' is full")

        try await tool.succeed(["queue", "set", "q", "--when-full", "wait"])
        try await tool.fail(["enqueue", "q", "e", "--timeout", "20ms"], with: 75, saying: "0 of 1 messages")

        #expect(try await tool.payloads("ready") == ["c"])
        #expect(try await tool.payloads("dropped") == ["a", "b"])
    }

    @Test func aProducerWaitsUntilThereIsRoom() async throws {
        let tool = try await Tool.withQueue("--capacity", "2", "--when-full", "wait")
        async let produced = tool.succeed(["enqueue", "q", "--lines"], input: Array("1\n2\n3\n4\n5\n6\n7\n".utf8))
        let worked = try await tool.succeed(["work", "q", "--max", "7", "--", "sh", "-c", "cat; echo"])
        let receipt = try await produced.output
        #expect(receipt == "7 messages enqueued (1 to 7).\n")
        #expect(worked.lines == (1...7).map(String.init))
    }

    @Test func createMakesTheQueueAndTheFile() async throws {
        let tool = try Tool.empty()
        for payload in ["x", "y"] { try await tool.succeed(["enqueue", "new", payload, "--create"]) }
        #expect(try await tool.payloads("ready", queue: "new") == ["x", "y"])
    }

    @Test func theFileIsChosenByOptionThenEnvironmentThenTheFolder() async throws {
        let tool = try Tool.empty()
        var plain = tool
        plain.variables = ["PENSTOCK_DB": nil]
        try await plain.succeed(["enqueue", "q", "here", "--create"])
        #expect(FileManager.default.fileExists(atPath: "\(tool.folder)/penstock.db"))
        try await tool.succeed(["enqueue", "q", "by environment", "--create"])
        try await tool.succeed(["enqueue", "q", "by option", "--create", "--db", "other.db"])
        #expect(try await plain.payloads("ready") == ["here"])
        #expect(try await tool.payloads("ready") == ["by environment"])
        #expect(try await tool.succeed(["show", "1", "--payload", "--db", "other.db"]).output == "by option")
    }
}
