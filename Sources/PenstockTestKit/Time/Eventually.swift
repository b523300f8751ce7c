import Dispatch

/// Returns once the condition holds. For states that ring no bell, such as another process's memory; a suite's time limit
/// ends it otherwise.
package func eventually(_ condition: () async throws -> Bool) async throws {
    while try await !condition() {
        try Task.checkCancellation()
        await giveWay()
    }
}

/// Leaves the processors to others for a millisecond. Between two looks at a state that rings no bell, and between two
/// steps of a clock: tests that do this all the time starve each other on a small machine.
package func giveWay() async {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { continuation.resume() }
    }
}
