import Penstock
import PenstockCore
import PenstockTestKit
import Subprocess
import Synchronization
import Testing

@testable import PenstockCLI

/// A queue whose deletion with force was broken off.
@Suite(.timeLimit(.minutes(5))) struct DeletingTests {
    /// What is advised to do does it.
    @Test func itIsSaidHowItIsFinished() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        _ = try await tool.sql("UPDATE penstock_queue SET deleting = 1 WHERE name = 'q'")
        try await tool.fail(
            ["enqueue", "q", "late"], with: 69, saying: "or finish it with `penstock queue delete --force`")
        try await tool.fail(
            ["queue", "delete", "q"], with: 64, saying: "or finish it with `penstock queue delete --force`")
        #expect(try await tool.run(["doctor"]).output.contains("with force (`--force`) if messages wait"))
        try await tool.succeed(["queue", "delete", "q", "--force"])
        try await tool.fail(["enqueue", "q", "late"], with: 66, saying: "no queue 'q'")
    }

    @Test func withoutMessagesThatWaitNoForceIsAdvised() async throws {
        let tool = try await Tool.withQueue()
        _ = try await tool.sql("UPDATE penstock_queue SET deleting = 1 WHERE name = 'q'")
        try await tool.fail(["enqueue", "q", "late"], with: 69, saying: "or finish it with `penstock queue delete`.")
        try await tool.succeed(["queue", "delete", "q"])
    }

    /// It gives nothing, though messages are ready.
    @Test func aWorkerSaysThatItGivesNothing() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        _ = try await tool.sql("UPDATE penstock_queue SET deleting = 1 WHERE name = 'q'")
        let outcome = try await tool.run(["work", "q", "--drain", "--", "cat"])
        #expect(outcome.status == .exited(0))
        #expect(outcome.output == "")
        #expect(outcome.errors.contains("The queue 'q' is being deleted"), "\(outcome.errors)")
    }

    /// A worker that was there before learns of it, and hears it once.
    @Test func itIsSaidOnceOfEachQueue() async throws {
        let (a, b) = (try QueueName("a"), try QueueName("b"))
        let deleted = Mutex<Set<QueueName>>([])
        let told = Mutex<[String]>([])
        let clock = ManualClock()
        var notice = DeletionNotice(of: [a, b]) { queue in
            if queue == b { throw PenstockError(.forbidden, "No.") }
            return deleted.withLock { $0.contains(queue) }
        } say: { sentence in
            told.withLock { $0.append(sentence) }
        }
        await notice.look()
        #expect(told.withLock { $0 } == [])
        let looks = Task { [notice] in await notice.goOn(by: clock) }
        try await clock.waitForSleepers()
        _ = deleted.withLock { $0.insert(a) }
        for _ in 1...2 {
            clock.advance(by: DeletionNotice.interval)
            try await clock.waitForSleepers()
            #expect(told.withLock { $0 }.map { $0.prefix(30) } == ["The queue 'a' is being deleted"])
        }
        looks.cancel()
        await looks.value
    }
}
