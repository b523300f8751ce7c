import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// The leases of a reader that nobody tends, and of messages that somebody works on.
@Suite struct InFlightTests {
    private let time = ManualTime()
    private let lease = Lease(sequence: SequenceNumber(1), token: LeaseToken(rawValue: 1))

    private func inFlight() -> InFlight {
        let inFlight = InFlight(time: time)
        inFlight.add([lease], ending: time.boot + .seconds(1))
        return inFlight
    }

    @Test func aLeaseThatEndedIsForgotten() {
        let inFlight = inFlight()
        #expect(inFlight.count() == 1)
        time.advance(by: .seconds(2))
        #expect(inFlight.count() == 0)
        #expect(!inFlight.contains(lease))
        #expect(!inFlight.remove(lease))
    }

    /// The store counts a lease from the claim on, and its answer may take long.
    @Test(.timeLimit(.minutes(5))) func aLeaseIsHeldNoLongerThanTheStoreSays() async throws {
        let (claimed, answer) = (Tally(), Latch())
        let the = Fixture({ base in
            interrupted(
                base,
                afterClaim: { _ in
                    claimed.add()
                    try await answer.wait()
                })
        })
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let holder = LeaseHolder(queue, lease: .seconds(30))
        let claiming = Task {
            var claimLoop = ClaimLoop(holder)
            return try await claimLoop.next(upTo: 1)
        }
        try await claimed.wait(for: 1)
        the.time.advance(by: .seconds(20))
        answer.open()
        let lease = try #require(try await claiming.value.first).lease
        the.time.advance(by: .seconds(9))
        #expect(holder.inFlight.lives(lease))
        the.time.advance(by: .seconds(1))
        #expect(!holder.inFlight.lives(lease))
        #expect(try await the.base.reclaim() == Reclaimed(fromExpiredLeases: 1))
    }

    /// The store may have stalled, and left the message to its worker.
    @Test func aLeaseWhoseMessageIsWorkedOnIsHeldUntilItIsTakenOut() {
        let inFlight = inFlight()
        #expect(inFlight.begin(HandlerRun(lease, leavesByItself: true)))
        time.advance(by: .seconds(2))
        #expect(inFlight.count() == 1)
        #expect(extended(inFlight, onlyOfRuns: true) == [lease])
        #expect(inFlight.remove(lease))
        #expect(inFlight.count() == 0)
    }

    /// The store may stall while a verdict is on its way, and others must hear that the worker lives.
    @Test func aLeaseIsExtendedUntilItsVerdictIsThere() {
        let inFlight = inFlight()
        inFlight.beginSettling([lease])
        #expect(extended(inFlight, onlyOfRuns: true) == [lease])
        #expect(!inFlight.isExtended(lease))
        inFlight.endSettling(lease)
        #expect(inFlight.isExtended(lease))
    }

    /// The handler had its time, and what it said later was refused.
    @Test func aLeaseThatIsToEndIsExtendedForAVerdictOnly() {
        let inFlight = inFlight()
        inFlight.letEnd(lease)
        #expect(extended(inFlight).isEmpty)
        inFlight.beginSettling([lease])
        #expect(extended(inFlight) == [lease])
        inFlight.endSettling(lease)
        #expect(extended(inFlight).isEmpty)
        inFlight.beginSettling([lease])
        inFlight.letEnd(lease)
        #expect(extended(inFlight) == [lease])
        inFlight.extendAgain(lease)
        #expect(inFlight.isExtended(lease))
    }

    @Test func aLeaseThatSomebodyHasMadeLongerIsLeftAsItIs() {
        let inFlight = inFlight()
        inFlight.moveEnd(of: lease, to: time.boot + .seconds(3600))
        #expect(extended(inFlight).isEmpty)
        time.advance(by: .seconds(3000))
        #expect(extended(inFlight) == [lease])
    }

    private func extended(_ inFlight: InFlight, onlyOfRuns: Bool = false) -> [Lease] {
        inFlight.extended(to: time.boot + .seconds(1000), onlyOfRuns: onlyOfRuns)
    }

    @Test func afterADismissalWhatComesLaterIsGivenUp() async {
        let inFlight = inFlight()
        let other = Lease(sequence: SequenceNumber(2), token: LeaseToken(rawValue: 2))
        inFlight.add([other], ending: time.boot + .seconds(1))
        let (early, late) = (HandlerRun(lease, leavesByItself: true), HandlerRun(other, leavesByItself: true))
        inFlight.begin(early)
        #expect(inFlight.runs(on: lease).first === early)
        inFlight.dismiss()
        inFlight.begin(late)
        for run in [early, late] {
            guard case .givenUp = await run.ended() else {
                Issue.record("The run ended otherwise.")
                continue
            }
            inFlight.endRun(run)
            #expect(inFlight.runs(on: run.lease).isEmpty)
        }
    }

    /// A stream's work on a message that a handler has passed on, or that two streams got.
    @Test func twoRunsOnOneMessageAreGivenUpBothThoughItsLeaseIsGone() async {
        let inFlight = inFlight()
        let (left, first, second) = (
            HandlerRun(lease, leavesByItself: true), HandlerRun(lease, leavesByItself: true),
            HandlerRun(lease, leavesByItself: true)
        )
        for run in [left, first, second] { inFlight.begin(run) }
        inFlight.endRun(left)
        #expect(extended(inFlight, onlyOfRuns: true) == [lease])
        inFlight.remove(lease)
        #expect(extended(inFlight, onlyOfRuns: true).isEmpty)
        #expect(inFlight.runs(on: lease).map(ObjectIdentifier.init) == [first, second].map(ObjectIdentifier.init))
        inFlight.dismiss()
        for run in inFlight.runs(on: lease) {
            guard case .givenUp = await run.ended() else {
                Issue.record("The run ended otherwise.")
                continue
            }
        }
    }
}
