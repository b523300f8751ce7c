import PenstockCore
import PenstockTestKit
import Subprocess
import Testing

@testable import PenstockCLI

@Suite(.timeLimit(.minutes(5))) struct ErrorPassingTests {
    /// Its message is not held for a reader of standard error that has stopped to read.
    @Test(arguments: ["echo x >&2; exit 3", "echo x >&2; exec sleep 1000"])
    func nobodyWaitsForAReaderWhenItHasEnded(script: String) async throws {
        let reader = Latch()
        var command = Command(path: "/bin/sh", name: "sh", arguments: ["-c", script])
        command.timeout = .milliseconds(100)
        let (asked, end) = try await Guardians.use { [command] guardians in
            let asked = Tally()
            let end = try await command.run(payload: [], variables: [:], in: guardians) { _ in
                asked.add()
                await reader.waitThoughCancelled()
            }
            return (asked, end)
        }
        #expect(asked.count == 1)
        #expect(end.errorTail == "x")
        #expect(end.status == (script.hasSuffix("3") ? .exited(3) : .signaled(SIGTERM)))
        reader.open()
    }
}
