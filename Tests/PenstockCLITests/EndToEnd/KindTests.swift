import Subprocess
import Testing

@testable import PenstockCLI

@Suite(.timeLimit(.minutes(5)))
struct KindTests {
    private static let sayKind = "echo \"${PENSTOCK_KIND-none} $(cat) $PENSTOCK_ATTEMPT\""

    @Test func aWorkerWorksItsKindsAndTheOthersWait() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "1", "--kind", "new"])
        try await tool.succeed(["enqueue", "q", "2", "--kind", "old"])
        try await tool.succeed(["enqueue", "q", "3"])
        let old = try await tool.succeed([
            "work", "q", "--kinds", "old,older", "--drain", "--", "sh", "-c", Self.sayKind,
        ])
        #expect(old.lines == ["old 2 1"])
        // Said once for each kind.
        #expect(old.errors.split(separator: "\n").count == 2)
        let waiting = try await tool.succeed(["show", "1", "--json"]).object()
        #expect(waiting["attempt"].number == 0)
        #expect(waiting["headers"]["penstock-kind"].text == "new")
        // It waits for the moment at which it is looked at again.
        let new = try await tool.succeed(["work", "q", "--kinds", "new", "--max", "1", "--", "sh", "-c", Self.sayKind])
        #expect(new.lines == ["new 1 1"])
        let all = try await tool.succeed(["work", "q", "--max", "1", "--", "sh", "-c", Self.sayKind])
        #expect(all.lines == ["none 3 1"])
    }

    /// What a command gives is something else than its message.
    @Test func whatFollowsHasNoKind() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["queue", "create", "next"])
        try await tool.succeed(["enqueue", "q", "1", "--kind", "photo", "--header", "trace=t"])
        var outer = tool
        outer.variables["PENSTOCK_KIND"] = "stale"
        try await outer.succeed(["work", "q", "--into", "next", "--drain", "--", "cat"])
        let worked = try await outer.succeed(["work", "next", "--drain", "--", "sh", "-c", Self.sayKind])
        #expect(worked.lines == ["none 1 1"])
        #expect(try await tool.succeed(["show", "2", "--json"]).object()["headers"]["trace"].text == "t")
    }
}
