import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// A program that looks after a store from which it claims for others, and its end.
@Suite(.timeLimit(.minutes(5))) struct KeepingUpTests {
    private let log = TestLog()

    private var hasFailed: Bool { log.lines.contains { $0.contains("no look for lost work") } }

    /// Clients that claim look for lost work more often than the program does, and shut the gate for half a second each time.
    @Test func aStoreThatIsGoneIsSeenWhileOthersLook() async throws {
        let the = Fixture()
        try await the.store.reclaimIfDue()
        let error = await endOfKeepingUp(the, with: PenstockError(.fileReplaced, "Another file has its name."))
        #expect(error?.code == .fileReplaced)
    }

    /// Its supervisor opens it anew.
    @Test func aStoreWhoseDiskKeepsNothingEndsTheProgram() async throws {
        var failure = PenstockError(.storage, "The disk has reported an error.")
        failure.needsReopening = true
        let error = await endOfKeepingUp(Fixture(), with: failure)
        #expect(error?.code == .storage)
    }

    /// With what a program that looks after the store ends, once each look fails with `failure`; `nil`: it goes on.
    private func endOfKeepingUp(_ the: Fixture, with failure: PenstockError) async -> PenstockError? {
        let (store, time) = (the.store, the.time)
        the.calls.fail(every: [.reclaim], with: failure)
        return await #expect(throws: PenstockError.self) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await store.keepUp() }
                // Two sleep when nothing was seen: what fires schedules, and the look.
                group.addTask { try await time.waitForSleepers(count: 2) }
                try await group.next()
            }
        }
    }

    @Test func aLookThatFailsIsToldOf() async throws {
        let the = Fixture(options: .init(logger: log.logger))
        the.calls.fail(every: [.reclaim])
        let keeping = Task { try await the.store.keepUp() }
        try await eventually { hasFailed }
        keeping.cancel()
        _ = try? await keeping.value
    }

    @Test func aLookThatIsCutShortByTheEndIsNoFailure() async throws {
        let the = Fixture(options: .init(logger: log.logger))
        the.calls.fail(every: [.reclaim])
        let keeping = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await the.store.keepUp()
        }
        _ = try? await keeping.value
        #expect(the.calls.calls(of: .reclaim).count > 0)
        #expect(!hasFailed)
    }
}
