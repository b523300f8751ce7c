import PenstockCore
import PenstockTestKit
import Subprocess
import Testing

@testable import PenstockCLI

@Suite(.timeLimit(.minutes(5))) struct ErrorPassingTests {
    /// Its message is not held for a reader of standard error that has stopped to read.
    @Test(arguments: ["echo x >&2; exit 3", "echo x >&2; exec sleep 1000"])
    func nobodyWaitsForAReaderWhenItHasEnded(script: String) async throws {
        let (reader, asked, clock) = (Latch(), Tally(), ManualClock())
        var command = Command(path: "/bin/sh", name: "sh", arguments: ["-c", script])
        command.clock = clock
        // However long a busy machine lets it wait, it is not killed.
        command.stopTime = .seconds(1_000_000)
        if script.hasSuffix("1000") { command.timeout = .seconds(10) }
        let end = try await Guardians.use { [command] guardians in
            async let end = command.run(payload: [], variables: [:], in: guardians) { _ in
                asked.add()
                await reader.waitThoughCancelled()
            }
            try await asked.wait(for: 1)
            let hand = Task {
                while !Task.isCancelled {
                    clock.advance(by: .milliseconds(100))
                    await giveWay()
                }
            }
            defer { hand.cancel() }
            return try await end
        }
        #expect(asked.count == 1)
        #expect(end.errorTail == "x")
        #expect(end.status == (script.hasSuffix("3") ? .exited(3) : .signaled(SIGTERM)))
        reader.open()
    }
}
