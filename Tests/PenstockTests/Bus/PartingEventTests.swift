import Foundation
import PenstockTestKit
import Testing

@testable import Penstock

/// Does something when nobody holds it any more.
private struct Parting: Event {
    private final class End: Sendable {
        let act: @Sendable () -> Void
        init(_ act: @escaping @Sendable () -> Void) { self.act = act }
        deinit { act() }
    }

    private let end: End

    init(_ act: @escaping @Sendable () -> Void) { end = End(act) }
    init(from decoder: any Decoder) throws { end = End {} }
    func encode(to encoder: any Encoder) throws {}
}

/// What an event holds goes when no lock is held: its end may use the same bus.
@Suite(.timeLimit(.minutes(5))) struct PartingEventTests {
    // Threads of their own: should they stand still, the test does not.

    @Test func theEndOfAnEventMaySend() async throws {
        let bus = EventBus(bufferLength: 1, backlog: 1)
        let sent = Tally()
        Thread.detachNewThread {
            bus << Parting { bus << Placed(id: 3) }
            bus << Placed(id: 1)
            sent.add()
        }
        try await sent.wait(for: 1)
        let kept = Gathered()
        try await bus.replay { (event: Placed) in kept.add(event.id) }
        #expect(kept.all == [3], "It was sent after the one that took its place.")

        Thread.detachNewThread {
            bus.bufferLength = 2
            bus << Parting { bus.bufferLength = 3 }
            bus << Placed(id: 4)
            bus.bufferLength = 1
            sent.add()
        }
        try await sent.wait(for: 2)
    }
}
