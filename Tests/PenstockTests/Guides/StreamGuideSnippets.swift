import Penstock

// The code of the guide to durable streams, between marks. A test holds the two against each other.

private typealias Thumbnail = Made
private typealias Shipment = Made

/// One text, made of a number.
private struct Made: AsyncSequence, Sendable {
    let number: Int

    init(of number: Int) {
        self.number = number
    }

    struct Iterator: AsyncIteratorProtocol {
        var text: String?

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> String? {
            text.take()
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(text: "made of \(number)")
    }
}

struct StreamGuide {
    // shown
    func thumbnails(
        of photos: some AsyncSequence<Int, Never> & Sendable, in queue: Queue<Int>
    ) -> some AsyncSequence<String, any Error> {
        photos
            .buffer(size: 100, prefetch: .keepFull, whenFull: .wait, in: queue)
            .flatMap(maxConcurrent: 4) { photo in Thumbnail(of: photo) }
    }
    // end

    // shown
    func shipped(from orders: Queue<Int>) -> some AsyncSequence<String, any Error> {
        orders.deliveries().flatMap(maxConcurrent: 8) { order in Shipment(of: order) }
    }
    // end

    // shown
    func log(_ readings: some AsyncSequence<Int, Never> & Sendable, in queue: Queue<Int>) async throws -> Int {
        var sum = 0
        for try await delivery in readings.buffer(size: 9, prefetch: .byRequest, whenFull: .dropOldest, in: queue) {
            sum += delivery.payload
            try await delivery.done()
        }
        return sum
    }
    // end

    // shown
    func reminders(
        _ events: some AsyncSequence<String, Never> & Sendable, in queue: Queue<String>
    ) -> DurableBufferSequence<some AsyncSequence<String, Never> & Sendable> {
        events.delay(for: .seconds(3600), in: queue)
    }
    // end

    // shown
    func next(after queue: Queue<Int>) async throws -> Int {
        for try await entry in queue.log(last: 1) { return try entry.payload() + 1 }
        return 1
    }
    // end
}
