import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// What a program does for a store that it claims from for others.
@Suite(.timeLimit(.minutes(5))) struct KeepingUpTests {
    let the = Fixture()

    /// Clients that claim look for lost work more often than the program does, and shut the gate for half a second each time.
    @Test func aStoreThatIsGoneIsSeenWhileOthersLook() async throws {
        let (store, time) = (the.store, the.time)
        try await store.reclaimIfDue()
        the.calls.fail(every: [.reclaim], with: PenstockError(.fileReplaced, "Another file has its name."))
        let error = await #expect(throws: PenstockError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await store.keepUp() }
                // Two sleep when nothing was seen: what fires schedules, and the look.
                group.addTask { try await time.waitForSleepers(count: 2) }
                try await group.next()
            }
        }
        #expect(error?.code == .fileReplaced)
    }
}
