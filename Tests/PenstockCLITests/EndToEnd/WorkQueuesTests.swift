import PenstockTestKit
import Subprocess
import Testing

@testable import PenstockCLI

@Suite(.timeLimit(.minutes(5)))
struct WorkQueuesTests {
    private static let sayQueue = "echo \"$PENSTOCK_QUEUE $(cat)\""

    /// The queues `mail` and `sms`, each with so many messages.
    private func tool(_ mailCount: Int, _ smsCount: Int) async throws -> Tool {
        let tool = try Tool.empty()
        for (queue, count) in [("mail", mailCount), ("sms", smsCount)] {
            try await tool.succeed(["queue", "create", queue])
            let lines = (0..<count).map { "\($0 + 1)\n" }.joined()
            if count > 0 { try await tool.succeed(["enqueue", queue, "--lines"], input: Array(lines.utf8)) }
        }
        return tool
    }

    @Test func theFirstQueueIsServedFirst() async throws {
        let tool = try await tool(2, 2)
        let worked = try await tool.succeed(["work", "sms,mail", "--drain", "--", "sh", "-c", Self.sayQueue])
        #expect(worked.lines == ["sms 1", "sms 2", "mail 1", "mail 2"])
        #expect(try await tool.payloads("done", queue: "mail").count == 2)
        #expect(try await tool.payloads("done", queue: "sms").count == 2)
    }

    @Test func weightsShareTheStarts() async throws {
        let tool = try await tool(6, 4)
        let worked = try await tool.succeed([
            "work", "mail:3,sms", "--order", "weighted", "--max", "8", "--", "sh", "-c", Self.sayQueue,
        ])
        #expect(
            worked.lines == ["mail 1", "sms 1", "mail 2", "mail 3", "mail 4", "sms 2", "mail 5", "mail 6"])
    }

    /// They share the places, and a queue that is deleted, in the worker's sight, is no matter of the other.
    @Test func aQueueThatIsDeletedEndsNothing() async throws {
        let tool = try await tool(0, 0)
        let worker = try await Running.start(
            tool, ["work", "mail,sms", "--concurrency", "2", "--", "sh", "-c", Self.sayQueue])
        try await tool.succeed(["enqueue", "mail", "1"])
        #expect(try await worker.output.readLine() == "mail 1")
        try await eventually { try await tool.payloads("done", queue: "mail").count == 1 }
        try await tool.succeed(["queue", "delete", "mail", "--force"])
        try await tool.succeed(["enqueue", "sms", "2"])
        #expect(try await worker.output.readLine() == "sms 2")
        worker.signal(SIGTERM)
        #expect(try await worker.status == .exited(0))
    }

    @Test func aQueueThatIsNotThereIsNamed() async throws {
        let tool = try await tool(1, 0)
        let outcome = try await tool.fail(
            ["work", "mail,fax", "--drain", "--", "true"], with: 66, saying: "There is no queue 'fax' in")
        #expect(outcome.errors.contains("`penstock queue create fax` makes it."))
        #expect(try await tool.payloads("ready", queue: "mail").count == 1)
    }

    @Test func aNameMayHaveACommaOrEndLikeAWeight() async throws {
        let tool = try Tool.empty()
        for name in ["a,b", "job:3"] {
            try await tool.succeed(["queue", "create", name])
            try await tool.succeed(["enqueue", name, "x"])
        }
        let worked = try await tool.succeed(
            ["work", #"a\,b,job\:3"#, "--drain", "--", "sh", "-c", Self.sayQueue])
        #expect(worked.lines == ["a,b x", "job:3 x"])
    }

    /// One process works the messages of both, so its environment names neither.
    @Test func aCommandThatStaysIsOfNoQueue() async throws {
        let tool = try await tool(1, 1)
        let script = "while read -r line; do echo \"${PENSTOCK_QUEUE-none} $line\"; done"
        let worked = try await tool.succeed(["work", "mail,sms", "--lines", "--drain", "--", "sh", "-c", script])
        #expect(worked.lines == ["none 1", "none 1"])
    }
}
