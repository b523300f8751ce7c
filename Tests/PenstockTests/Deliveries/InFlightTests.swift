import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// The leases of a reader that nobody tends, and of messages that somebody works on.
@Suite struct InFlightTests {
    private let time = ManualTime()
    private let lease = Lease(sequence: SequenceNumber(1), token: LeaseToken(rawValue: 1))

    private func inFlight() -> InFlight {
        let inFlight = InFlight(queue: QueueName(stored: "q"), time: time, forgetsEnded: true)
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

    /// The store may have stalled, and left the message to its worker.
    @Test func aLeaseWhoseMessageIsWorkedOnIsHeldUntilItIsTakenOut() {
        let inFlight = inFlight()
        #expect(inFlight.begin(HandlerRun(lease)))
        time.advance(by: .seconds(2))
        #expect(inFlight.count() == 1)
        #expect(inFlight.extended(onlyOfRuns: true) == [lease])
        #expect(inFlight.remove(lease))
        #expect(inFlight.count() == 0)
    }

    @Test func afterADismissalWhatComesLaterIsGivenUp() async {
        let inFlight = inFlight()
        let other = Lease(sequence: SequenceNumber(2), token: LeaseToken(rawValue: 2))
        inFlight.add([other], ending: time.boot + .seconds(1))
        let (early, late) = (HandlerRun(lease), HandlerRun(other))
        inFlight.begin(early)
        #expect(inFlight.run(on: lease) === early)
        inFlight.dismiss()
        inFlight.begin(late)
        for run in [early, late] {
            guard case .givenUp = await run.ended() else {
                Issue.record("The run ended otherwise.")
                continue
            }
            inFlight.endRun(on: run.lease)
            #expect(inFlight.run(on: run.lease) == nil)
        }
    }
}
