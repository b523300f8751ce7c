import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

@Suite(.timeLimit(.minutes(5))) struct LogShareReplayTests {
    let the = Fixture()
    let source = HandFedSource()

    @Test func aThousandSubscribersReadUpstreamOnce() async throws {
        let log = try await the.queue()
        let shared = source.shareReplay(0, in: log)
        let gathered = (0..<1000).map { _ in Gathered() }
        let tasks = gathered.map { $0.all(of: shared) }
        try await eventually { shared.subscriberCount == 1000 }
        try await source.begun.wait(for: 1)
        let before = the.calls.calls(of: .log).count
        for number in 1...20 {
            source.give([number])
            for one in gathered { try await one.count.wait(for: number) }
        }
        // One reads for all, and looks once more behind each value.
        #expect(the.calls.calls(of: .log).count - before <= 3 * 20)
        source.finish()
        for task in tasks { try await task.value }
        #expect(gathered.allSatisfy { $0.all == Array(1...20) })
        #expect(source.begun.count == 1)
        #expect(shared.subscriberCount == 0)
        #expect(try await log.status().totals.enqueued == 20)
    }

    @Test func aNewcomerGetsTheLastOnesAndThenWhatComes() async throws {
        let log = try await the.queue()
        let shared = source.shareReplay(2, in: log)
        let first = Gathered()
        let firstTask = first.all(of: shared)
        try await source.begun.wait(for: 1)
        source.give(1...5)
        try await first.count.wait(for: 5)
        let second = Gathered()
        let secondTask = second.all(of: shared)
        try await second.count.wait(for: 2)
        source.give([6])
        source.finish()
        try await firstTask.value
        try await secondTask.value
        #expect(first.all == [1, 2, 3, 4, 5, 6])
        #expect(second.all == [4, 5, 6])
        // After the end, the last ones and that same end.
        let late = Gathered()
        try await late.all(of: shared).value
        #expect(late.all == [5, 6])
        #expect(source.begun.count == 1)
    }

    @Test func aNewProcessReplaysTheEarlierOnes() async throws {
        let shared = source.shareReplay(3, in: try await the.queue())
        let first = Gathered()
        let task = first.all(of: shared)
        try await source.begun.wait(for: 1)
        source.give(1...9)
        source.finish()
        try await task.value
        try await the.crash()

        let other = the.otherProcess()
        let next = HandFedSource()
        let gathered = Gathered()
        let again = gathered.all(of: next.shareReplay(3, in: try await other.queue("q", of: Int.self)))
        try await next.begun.wait(for: 1)
        next.give([10])
        next.finish()
        try await again.value
        #expect(gathered.all == [7, 8, 9, 10])
    }

    @Test func twoProcessesShareOneLog() async throws {
        let other = the.otherProcess()
        let sources = [source, HandFedSource()]
        let logs = [try await the.queue(), try await other.queue("q", of: Int.self)]
        let gathered = [Gathered(), Gathered()]
        let tasks = (0..<2).map { gathered[$0].all(of: sources[$0].shareReplay(5, in: logs[$0])) }
        for source in sources { try await source.begun.wait(for: 1) }
        for number in 1...50 { sources[number % 2].give([number]) }
        for one in gathered { try await one.count.wait(for: 50) }
        #expect(gathered[0].all == gathered[1].all, "The order is the log's.")
        #expect(gathered[0].all.sorted() == Array(1...50))
        for task in tasks { task.cancel() }
        for task in tasks { try await task.value }
    }

    @Test func aSlowSubscriberLosesNothingAndHoldsNobodyBack() async throws {
        let log = try await the.queue()
        let shared = source.shareReplay(0, in: log)
        var slow = shared.makeAsyncIterator()
        let fast = Gathered()
        let task = fast.all(of: shared)
        try await source.begun.wait(for: 1)
        // The slow one subscribed before upstream gave anything, and asks when all is over.
        source.give(1...5000)
        try await fast.count.wait(for: 5000)
        var taken: [Int] = []
        while taken.count < 2500, let element = try await slow.next() { taken.append(element) }
        source.give(5001...5002)
        source.finish()
        try await task.value
        while let element = try await slow.next() { taken.append(element) }
        #expect(taken == Array(1...5002))
        #expect(fast.all == Array(1...5002))
    }

    @Test func theLastToLeaveCancelsUpstreamAndTheNextBeginsAnew() async throws {
        let log = try await the.queue()
        let shared = source.shareReplay(1, in: log)
        let gathered = [Gathered(), Gathered()]
        let tasks = gathered.map { $0.all(of: shared) }
        try await eventually { shared.subscriberCount == 2 }
        try await source.begun.wait(for: 1)
        source.give([1])
        for one in gathered { try await one.count.wait(for: 1) }
        tasks[0].cancel()
        try await tasks[0].value
        #expect(source.ended.count == 0)
        tasks[1].cancel()
        try await tasks[1].value
        #expect(source.ended.count == 1, "It has ended when the cancellation returns.")
        #expect(the.base.changes.waiterCount == 0)

        let next = Gathered()
        let task = next.all(of: shared)
        try await source.begun.wait(for: 2)
        source.give([2])
        try await next.count.wait(for: 2)
        #expect(next.all == [1, 2])
        task.cancel()
        try await task.value
    }

    @Test func anIteratorLetGoLeaves() async throws {
        let shared = source.shareReplay(1, in: try await the.queue())
        let elements = AsyncStream.makeStream(of: Int.self)
        let task = Task {
            var iterator = shared.makeAsyncIterator()
            if let element = try await iterator.next() { elements.continuation.yield(element) }
        }
        try await source.begun.wait(for: 1)
        #expect(shared.subscriberCount == 1)
        source.give([8])
        for await element in elements.stream {
            #expect(element == 8)
            break
        }
        try await task.value
        try await source.ended.wait(for: 1)
        #expect(shared.subscriberCount == 0)
    }

    @Test func upstreamsFailureComesAfterTheElementsBeforeIt() async throws {
        let shared = source.shareReplay(2, in: try await the.queue())
        let gathered = Gathered()
        let task = gathered.all(of: shared)
        try await source.begun.wait(for: 1)
        source.give(1...300)
        source.finish(HandFedSource.Broken())
        await #expect(throws: HandFedSource.Broken.self) { try await task.value }
        #expect(gathered.all == Array(1...300))
        let late = Gathered()
        await #expect(throws: HandFedSource.Broken.self) { try await late.all(of: shared).value }
        #expect(late.all == [299, 300])
    }

    @Test(arguments: [FaultyStore.Call.append, .log])
    func aStorageFaultIsAFailureAndTheNextSubscriberBeginsAnew(_ call: FaultyStore.Call) async throws {
        let shared = source.shareReplay(0, in: try await the.queue())
        let gathered = [Gathered(), Gathered()]
        let tasks = gathered.map { $0.all(of: shared) }
        try await eventually { shared.subscriberCount == 2 }
        try await source.begun.wait(for: 1)
        source.give([1])
        for one in gathered { try await one.count.wait(for: 1) }
        // The look that follows a value may be made already, so it is the next one after that.
        the.calls.fail(call, with: PenstockError(.diskFull, "No room."))
        source.give([2])
        if call == .log { the.base.changes.ring(nil) }
        for task in tasks {
            let error = await #expect(throws: PenstockError.self) { try await task.value }
            #expect(error?.code == .diskFull)
        }
        try await source.ended.wait(for: 1)
        #expect(shared.subscriberCount == 0)
        let next = Gathered()
        let task = next.all(of: shared)
        try await source.begun.wait(for: 2)
        source.give([3])
        source.finish()
        try await task.value
        #expect(next.all == [3])
    }

    @Test func whatRetentionForgotIsCounted() async throws {
        let log = try await the.queue(
            policy: QueuePolicy(retention: Retention(age: nil, count: 10)))
        let missed = Mutex(0)
        let shared = source.shareReplay(0, in: log, onMissed: { count in missed.withLock { $0 += count } })
        var slow = shared.makeAsyncIterator()
        let fast = Gathered()
        let task = fast.all(of: shared)
        try await source.begun.wait(for: 1)
        for number in 1...3000 {
            source.give([number])
            try await fast.count.wait(for: number)
        }
        source.finish()
        try await task.value
        #expect(missed.withLock { $0 } == 0)
        var taken: [Int] = []
        while let element = try await slow.next() { taken.append(element) }
        #expect(taken.last == 3000 && taken.count >= 10)
        #expect(taken == Array((3001 - taken.count)...3000))
        #expect(missed.withLock { $0 } == 3000 - taken.count)
    }

    @Test func aPayloadThatIsNoElementIsAFailure() async throws {
        let shared = source.shareReplay(9, in: try await the.queue())
        let raw = try await the.store.queue("q")
        try await raw.enqueue(Array("no number".utf8))
        var iterator = shared.makeAsyncIterator()
        let error = await #expect(throws: PenstockError.self) { try await iterator.next() }
        #expect(error?.code == .undecodable)
    }

    @Test func cancellationsSubscriptionsAndElementsMayRace() async throws {
        let shared = source.shareReplay(1, in: try await the.queue())
        let giver = Task {
            for number in 1...Int.max {
                if Task.isCancelled { return }
                source.give([number])
                await Task.yield()
            }
        }
        for _ in 1...100 {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let gathered = Gathered()
                        let task = gathered.all(of: shared)
                        if number % 3 == 0 { await Task.yield() }
                        task.cancel()
                        _ = await task.result
                        #expect(gathered.all == gathered.all.sorted())
                    }
                }
            }
        }
        giver.cancel()
        await giver.value
        #expect(shared.subscriberCount == 0)
        #expect(source.begun.count == source.ended.count)
        try await the.store.close()
    }
}
