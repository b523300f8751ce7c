import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// How long those who work with the store for long wait when it fails.
@Suite(.timeLimit(.minutes(5))) struct StoreRetryTests {
    private let the = Fixture()
    private let busy = PenstockError(.busy, "Another process holds the lock.")

    @Test func eachFailureIsWaitedForLongerUntilTheStoreAnswers() async throws {
        let handle = try await the.queue().handle
        var retry = StoreRetry()
        for _ in 1...2 {
            var delays: [Duration] = []
            for _ in 1...10 {
                let delay = retry.delay(after: busy, handle)
                delays.append(try #require(delay))
            }
            #expect(delays[0] <= .milliseconds(100))
            #expect(delays[9] >= .milliseconds(2500) && delays[9] <= .seconds(5))
            retry.succeeded()
        }
    }

    @Test func whatNoTryCanHelpIsNotWaitedFor() async throws {
        let handle = try await the.queue().handle
        var retry = StoreRetry()
        for code in [PenstockError.Code.closed, .corrupt, .invalidInput] {
            let delay = retry.delay(after: PenstockError(code, "It is so."), handle)
            #expect(delay == nil)
        }
        let delay = retry.delay(after: CancellationError(), handle)
        #expect(delay == nil)
    }

    /// A reader lives for months, and meets failures that have nothing to do with each other.
    @Test func aReaderThatHasClaimedBeginsWithTheShortestWait() async throws {
        let queue = try await the.queue()
        var claimLoop = ClaimLoop(LeaseHolder.sharing([queue], lease: .seconds(30)))
        the.calls.fail(every: [.claim], with: busy)
        for _ in 1...10 { _ = try await claimLoop.next(upTo: 1) }
        #expect(try await pause(of: claimLoop) >= .milliseconds(2500))
        the.calls.heal()
        _ = try await claimLoop.next(upTo: 1)
        the.calls.fail(.claim, with: busy)
        _ = try await claimLoop.next(upTo: 1)
        #expect(try await pause(of: claimLoop) <= .milliseconds(100))
    }

    /// How long the reader waits before its next try. It passes.
    private func pause(of claimLoop: ClaimLoop) async throws -> Duration {
        let waits = claimLoop.waits
        #expect(waits.count == 1)
        let waiting = Task { try await waits[0]() }
        try await the.time.waitForSleepers()
        let pause = try #require(the.time.nextDeadline) - the.time.now
        the.time.advanceToNextDeadline()
        try await waiting.value
        return pause
    }
}
