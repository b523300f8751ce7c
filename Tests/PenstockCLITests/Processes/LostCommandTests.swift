import PenstockTestKit
import Subprocess
import Synchronization
import Testing

@testable import PenstockCLI

/// Commands whose end the library that starts them does not see.
@Suite(.timeLimit(.minutes(5)))
struct LostCommandTests {
    /// It is not started once more: what it was to do may be done.
    @Test func oneWhoseStatusIsLostEndsTheWorker() async throws {
        await #expect(processExitsWith: .success) {
            var command = Command(path: "/bin/sh", name: "sh", arguments: ["-c", "echo begun >&2"])
            // However long a busy machine takes, what it writes is not given up.
            command.clock = ManualClock()
            let startCount = Mutex(0)
            let failure = try await Guardians.use { [command] guardians in
                do {
                    // The status is taken away from the library while that waits for it.
                    _ = try await command.run(payload: [], variables: [:], in: guardians) { _ in
                        startCount.withLock { $0 += 1 }
                        _ = waitpid(-1, nil, 0)
                    }
                    return Failure?.none
                } catch let failure as Failure {
                    return failure
                }
            }
            guard failure?.message.contains("how it ended cannot be seen") == true else { exit(20) }
            exit(startCount.withLock { $0 } == 1 ? 0 : 21)
        }
    }
}
