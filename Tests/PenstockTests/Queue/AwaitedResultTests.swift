import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// Results of messages that other processes work. No clock moves unless a test says so: each wait ends with a ring.
@Suite(.timeLimit(.minutes(5))) struct AwaitedResultTests {
    private let the = Fixture()

    /// The queue as another process sees it.
    private func elsewhere() async throws -> Queue<Int> {
        try await the.otherProcess().queue("q", of: Int.self)
    }

    @Test func aResultComesFromAnotherProcess() async throws {
        let queue = try await the.queue()
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        async let results = receipts.asyncMap { try await queue.result(of: $0.sequence, as: Int.self) }
        try await the.base.changes.waitForWaiters()
        let worker = Worker(try await elsewhere(), options: .init(concurrency: 1, drain: true)) { delivery in
            if delivery.payload != 2 { try await delivery.done(result: delivery.payload * 10) }
        }
        try await worker.run()
        #expect(try await results == [10, nil, 30])
        #expect(try await queue.result(of: receipts[2].sequence, as: [UInt8].self) == Array("30".utf8))
        #expect(
            await the.code { _ = try await queue.result(of: receipts[2].sequence, as: String.self) } == .undecodable)
    }

    @Test func manyWaitForOneMessage() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 1...20 { group.addTask { try await queue.result(of: receipt.sequence, as: Int.self) } }
            try await the.base.changes.waitForWaiters(count: 20)
            try await the.drain(try await elsewhere()) { try await $0.done(result: 7) }
            for try await result in group { #expect(result == 7) }
        }
    }

    /// The message ends when the wait has looked at it, and does not listen yet.
    @Test func anEndRightAfterTheLookIsHeard() async throws {
        let the = Fixture({ InterleavedStore($0) })
        let interleaved = try #require(the.calls.base as? InterleavedStore)
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let other = try await the.otherProcess().queue("q", of: Int.self)
        // The first look has the store tell of the end, and the second one comes before the wait.
        interleaved.afterNext(.expectEnd) { _ in
            interleaved.afterNext(.messages) { _ in
                try await the.drain(other) { try await $0.done(result: 7) }
            }
        }
        #expect(try await queue.result(of: receipt.sequence, as: Int.self) == 7)
    }

    /// Nobody works, and so nobody but the one that waits notices.
    @Test func aMessageThatExpiresIsNotWaitedForForEver() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1, options: .init(expiry: .after(.seconds(5))))
        let wait = Task { [the] in await the.code { _ = try await queue.result(of: receipt.sequence, as: Int.self) } }
        try await the.base.changes.waitForWaiters()
        try await the.time.waitForSleepers()
        the.time.advance(by: .seconds(5))
        #expect(await wait.value == .messageDropped)
    }

    @Test func howItEndedOtherwiseIsSaid() async throws {
        let queue = try await the.queue(policy: QueuePolicy(capacity: Capacity(4, whenFull: .dropOldest)))
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3, 4])
        let waits = receipts.map { receipt in
            Task { [the] in await the.code { _ = try await queue.result(of: receipt.sequence, as: Int.self) } }
        }
        try await the.base.changes.waitForWaiters(count: 4)
        let other = try await elsewhere()
        try await other.enqueue(5)
        try await the.otherProcess().cancel([receipts[1].sequence])
        try await Worker(other, options: .init(max: 2)) { delivery in
            if delivery.payload == 3 { throw Reject("no such thing") }
        }.run()
        var codes: [PenstockError.Code?] = []
        for wait in waits { codes.append(await wait.value) }
        #expect(codes == [.messageDropped, .messageCancelled, .messageDead, nil])
        let error = await #expect(throws: PenstockError.self) {
            try await queue.result(of: receipts[2].sequence, as: Int.self)
        }
        #expect(error?.message == "Message 3 is a dead letter: no such thing")
    }

    /// A worker that is asked to end may take a while, and the wait goes on meanwhile.
    @Test func aCancelThatTakesAWhileIsWaitedFor() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let wait = Task { [the] in await the.code { _ = try await queue.result(of: receipt.sequence, as: Int.self) } }
        var deliveries = try await elsewhere().deliveries().makeAsyncIterator()
        let delivery = try #require(try await deliveries.next())
        try await the.store.cancel([receipt.sequence])
        try await the.base.changes.waitForWaiters()
        try await delivery.retry("stopped")
        #expect(await wait.value == .messageCancelled)
    }

    @Test func aWaitEndsWithItsTimeoutAndTheMessageGoesOn() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let code = try await the.whileTimePasses {
            await the.code { _ = try await queue.result(of: receipt.sequence, as: Int.self, timeout: .seconds(3)) }
        }
        #expect(code == .timedOut)
        #expect(try await the.state(receipt) == .ready)
        let wait = Task { try await queue.result(of: receipt.sequence, as: Int.self) }
        try await the.base.changes.waitForWaiters()
        wait.cancel()
        await #expect(throws: CancellationError.self) { try await wait.value }
        try await the.drain(queue) { try await $0.done(result: 5) }
        #expect(try await queue.result(of: receipt.sequence, as: Int.self, timeout: .zero) == 5)
    }

    @Test func whatRetentionLetsGoIsGone() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { try await $0.done(result: 5) }
        try await the.store.prune(retention: Retention(count: 0))
        #expect(await the.code { _ = try await queue.result(of: receipt.sequence, as: Int.self) } == .unknownMessage)
        let other = try await the.store.queue("other", of: Int.self).enqueue(1)
        #expect(await the.code { _ = try await queue.result(of: other.sequence, as: Int.self) } == .unknownMessage)
    }

    /// Where no ring comes, the wait looks by itself now and then.
    @Test func aRingThatIsLostCostsALook() async throws {
        let the = Fixture(silent)
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let wait = Task { try await queue.result(of: receipt.sequence, as: Int.self) }
        try await the.time.waitForSleepers(count: 1)
        var deliveries = try await the.otherProcess().queue("q", of: Int.self).deliveries().makeAsyncIterator()
        try await deliveries.next()?.done(result: 9)
        the.time.advance(by: the.base.lookInterval)
        #expect(try await wait.value == 9)
    }
}

extension Array where Element: Sendable {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
