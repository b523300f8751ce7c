import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// Two calls of `next()` at once on copies of one iterator, which share what it reads by. The second one stops the program: that
/// one of them never ended, or got what the other had claimed, nobody could find.
@Suite(.timeLimit(.minutes(5))) struct IteratorCopyTests {
    @Test func aReaderOfDeliveriesIsAskedOnceAtATime() async {
        await #expect(processExitsWith: .failure) {
            let the = Fixture()
            let asker = DeliveryAsker(try await the.queue())
            let first = Task { try await asker.next() }
            try await the.calls.changes.waitForWaiters(count: 1)
            // It is cancelled, so that the program ends in order where nothing stops it.
            let second = Task { try await asker.next() }
            second.cancel()
            _ = await second.result
            first.cancel()
        }
    }

    @Test func aDurableBufferIsAskedOnceAtATime() async {
        await #expect(processExitsWith: .failure) {
            let outlet = DeliveryOutlet<Int>()
            _ = await withCheckedContinuation { (consumer: DeliveryOutlet<Int>.Consumer) in
                _ = outlet.next(consumer)
                _ = outlet.next(consumer)
                outlet.end(nil)
            }
        }
    }

    /// One call after the other is no fault, and the copies take turns at what is claimed.
    @Test func copiesThatAreAskedInTurnShareTheReader() async throws {
        let the = Fixture()
        let queue = try await the.queue()
        try await queue.enqueue(contentsOf: [1, 2, 3])
        var one = queue.deliveries(inFlightMax: 3).makeAsyncIterator()
        var other = one
        #expect(try await one.next()?.payload == 1)
        #expect(try await other.next()?.payload == 2)
        #expect(try await one.next()?.payload == 3)
        #expect(the.calls.calls(of: .claim).count == 1)
    }
}

/// Asks copies of one iterator, as an actor can that keeps it.
private actor DeliveryAsker {
    private let iterator: Deliveries<Int>.Iterator

    init(_ queue: Queue<Int>) {
        iterator = queue.deliveries().makeAsyncIterator()
    }

    func next() async throws {
        var copy = iterator
        _ = try await copy.next()
    }
}
