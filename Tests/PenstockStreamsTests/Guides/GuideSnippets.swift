import PenstockStreams
import PenstockTestKit

// The code of the guides, between marks, by guide. A test holds the two against each other, so what they show compiles.

private struct Page: AsyncSequence, Sendable {
    let link: Int

    init(_ link: Int) {
        self.link = link
    }

    struct Iterator: AsyncIteratorProtocol {
        var title: String?

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> String? {
            title.take()
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(title: "page \(link)")
    }
}

struct Guides {
    // shown
    func titles(of links: some AsyncSequence<Int, Never> & Sendable) async -> [String] {
        var titles: [String] = []
        for await title in links.flatMap(maxConcurrent: 4, { link in Page(link) }) {
            titles.append(title)
        }
        return titles
    }
    // end

    // shown
    func latest(of readings: some AsyncSequence<Int, Never> & Sendable, lost: Tally) async -> [Int] {
        var taken: [Int] = []
        for await reading in readings.buffer(
            size: 100, prefetch: .byRequest, whenFull: .dropOldest, onDrop: { _ in lost.add() })
        {
            taken.append(reading)
        }
        return taken
    }
    // end

    // shown
    struct TooSlow: Error {}

    func strict(
        _ readings: some AsyncSequence<Int, Never> & Sendable
    ) -> some AsyncSequence<Int, TooSlow> & Sendable {
        readings.buffer(size: 100, prefetch: .byRequest, whenFull: .customError { TooSlow() })
    }
    // end

    // shown
    func ring(_ bell: AsyncPassthroughSubject<String, Never>) -> Bool {
        let heardCount = bell.send("ding")
        return heardCount > 0
    }
    // end

    // shown
    func unhurried(
        _ bell: AsyncPassthroughSubject<String, Never>
    ) -> some AsyncSequence<String, Never> & Sendable {
        bell.buffer(size: 16, prefetch: .byRequest, whenFull: .dropOldest)
    }
    // end

    // shown
    func reminders<C: Clock<Duration>>(
        _ events: some AsyncSequence<String, Never> & Sendable, clock: C
    ) -> some AsyncSequence<String, Never> & Sendable {
        events.delay(for: .seconds(60), holding: 1_000, clock: clock)
    }
    // end

    // shown
    func thermometer() -> AsyncReplaySubject<Double, Never> {
        let temperatures = AsyncReplaySubject<Double, Never>(bufferSize: 1, backlog: .dropOldest(at: 16))
        temperatures.offer(21.5)
        return temperatures
    }
    // end

    // shown
    func record(_ lines: [String], by subject: AsyncReplaySubject<String, Never>) async throws {
        for line in lines { try await subject.send(line) }
        subject.finish()
    }
    // end

    // shown
    func highestAndLast(of prices: some AsyncSequence<Int, Never> & Sendable) async -> (Int?, Int?) {
        let shared = prices.shareReplay(1, backlog: .suspendSender(at: 64))
        let highest = await shared.max()
        // A newcomer after the end: upstream is not read again.
        let last = await shared.first { _ in true }
        return (highest, last)
    }
    // end

    // shown
    struct FellBehind: Error {}

    func impatient(
        _ prices: some AsyncSequence<Int, Never> & Sendable
    ) -> some AsyncSequence<Int, FellBehind> & Sendable {
        prices.shareReplay(1, backlog: .endSubscriber(at: 64) { FellBehind() })
    }
    // end
}
