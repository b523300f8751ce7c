import PenstockTestKit
import Subprocess
import Testing

@testable import PenstockCLI

/// Commands whose end the library that starts them does not see.
@Suite(.timeLimit(.minutes(5)))
struct LostCommandTests {
    /// It is not started once more, and its attempt counts: what it was to do may be done.
    @Test func oneWhoseStatusIsLostHasBegun() async throws {
        await #expect(processExitsWith: .success) {
            var command = Command(path: "/bin/sh", name: "sh", arguments: ["-c", "echo begun >&2"])
            // However long a busy machine takes, what it writes is not given up.
            command.clock = ManualClock()
            let isLost = try await Guardians.use { [command] guardians in
                do {
                    // The status is taken away from the library while that waits for it.
                    _ = try await command.run(payload: [], variables: [:], in: guardians) { _ in
                        _ = waitpid(-1, nil, 0)
                    }
                    return false
                } catch is AttemptFailed {
                    return true
                }
            }
            exit(isLost ? 0 : 20)
        }
    }
}
