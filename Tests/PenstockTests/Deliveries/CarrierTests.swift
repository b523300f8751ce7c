import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// A verdict waits for nothing but a call of the store. The reader that carries it there may be away, look for lost work first,
/// or fail at something else.
@Suite(.timeLimit(.minutes(5))) struct CarrierTests {
    private let the = Fixture()

    private func oneHeld(_ queue: Queue<Int>) async throws -> (ClaimLoop, Lease) {
        var loop = ClaimLoop(LeaseHolder(queue, lease: .seconds(30)))
        let claimed = try await loop.next(upTo: 1)
        return (loop, try #require(claimed.first).lease)
    }

    /// A verdict that waits in the line of a reader that would not take it by itself.
    private func verdict(on lease: Lease, of holder: LeaseHolder) async throws -> Task<MessageState, any Error> {
        holder.line.beginCarrying {}
        let verdict = Task { try await holder.settle(Settlement(lease, .done)) }
        try await eventually { !holder.line.isEmpty }
        return verdict
    }

    /// The reader looks for lost work, and the lease of a message that is finished has ended.
    @Test func aLookForLostWorkTakesNothingBackThatIsFinished() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var (loop, lease) = try await oneHeld(queue)
        let verdict = try await verdict(on: lease, of: loop.holder)
        the.time.advance(by: .seconds(31))
        #expect(try await loop.next(upTo: 1).isEmpty)
        #expect(try await verdict.value == .done)
        #expect(try await queue.status().totals.reclaimed == 0)
    }

    @Test func aLookThatFailsKeepsNoVerdict() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var (loop, lease) = try await oneHeld(queue)
        let verdict = try await verdict(on: lease, of: loop.holder)
        the.time.advance(by: .seconds(1))
        the.calls.fail(every: [.reclaim], with: PenstockError(.storage, "It may pass."))
        #expect(try await loop.next(upTo: 1).isEmpty)
        #expect(try await verdict.value == .done)
    }

    @Test func aClaimBehindAVerdictFailsWithItsOwnError() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var (loop, lease) = try await oneHeld(queue)
        let verdict = try await verdict(on: lease, of: loop.holder)
        try await the.store.delete(queue.name, force: true)
        let error = await #expect(throws: PenstockError.self) { try await loop.next(upTo: 1) }
        #expect(error?.code == .unknownQueue)
        _ = try? await verdict.value
    }

    /// A value that is too large for what is left of the disk must not keep others from being done.
    @Test func aFullDiskIsTriedForAVerdictAlone() async throws {
        struct FullDisk: ForwardingStore {
            let base: any MessageStore

            func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
                if operations.contains(where: \.isEnqueue) { throw PenstockError(.diskFull, "No room.") }
                return try await base.perform(operations, flushed: flushed)
            }
        }
        let queue = try await PenstockStore(FullDisk(base: the.base)).queue("q", of: Int.self)
        try await queue.enqueue(1)
        var (loop, lease) = try await oneHeld(queue)
        let verdict = try await verdict(on: lease, of: loop.holder)
        let enqueue = StoreOperation.enqueue([NewMessage(payload: [50])], to: queue.name, durability: .processCrash)
        await #expect(throws: PenstockError.self) { try await loop.perform([enqueue]) }
        #expect(try await verdict.value == .done)
    }

    @Test func theLeaseIsExtendedUntilTheVerdictIsTaken() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let (loop, lease) = try await oneHeld(queue)
        let verdict = try await verdict(on: lease, of: loop.holder)
        #expect(loop.holder.inFlight.isExtended(lease))
        await loop.holder.line.handIn(loop.holder.line.take())
        #expect(try await verdict.value == .done)
    }

    /// Counts the calls that are for verdicts alone.
    private struct HandInStore: ForwardingStore {
        let base: any MessageStore
        let handIns = Tally()

        func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
            handIns.add()
            return try await base.settle(settlements)
        }

        func perform(_ operations: [StoreOperation], flushed: Flushed?) async throws -> Performed {
            try await base.perform(operations, flushed: flushed)
        }
    }

    @Test func theNextClaimOfDeliveriesTakesVerdictsAlong() async throws {
        let store = HandInStore(base: the.base)
        let queue = try await PenstockStore(store, options: .init(time: the.time)).queue("q", of: Int.self)
        for number in 1...17 { try await queue.enqueue(number) }
        let executor = CountingExecutor()
        let reader = Task(executorPreference: executor) {
            var deliveries = queue.deliveries(inFlightMax: 8).makeAsyncIterator()
            var first: [Delivery<Int>] = []
            while first.count < 8, let delivery = try await deliveries.next() { first.append(delivery) }
            // These go together, and the next ones are handed out one by one.
            var verdicts = first.map { delivery in
                Task(executorPreference: executor) { try await delivery.done() }
            }
            var handInsBefore = 0
            for number in 1...8 {
                guard let delivery = try await deliveries.next() else { break }
                if number == 1 { handInsBefore = store.handIns.count }
                verdicts.append(Task(executorPreference: executor) { try await delivery.done() })
                await Task.yield()
            }
            let last = try await deliveries.next()
            for verdict in verdicts { try await verdict.value }
            return (payload: last?.payload, handInsBefore: handInsBefore)
        }
        let (payload, handInsBefore) = try await reader.value
        #expect(payload == 17)
        #expect(store.handIns.count == handInsBefore)
    }

    /// Between any two that the engine hands out, the verdict on the first looks twice whether it goes on: an engine that said nothing would
    /// be taken for one that has stopped.
    @Test func theNextClaimOfAnEngineTakesTheVerdictAlong() async throws {
        let store = HandInStore(base: the.base)
        let queue = try await PenstockStore(store, options: .init(time: the.time)).queue("q", of: Int.self)
        try await queue.enqueue(contentsOf: Array(1...8))
        let verdict = SteppedVerdict()
        let engine = DeliveryEngine(queue: queue, inFlightMax: 8, lease: .seconds(30)) { delivery in
            verdict.step(beside: [delivery])
            return true
        }
        let line = engine.holder.line
        try await line.manyWentTogether()
        engine.request(9)
        let reader = Task { await engine.run() }
        try await eventually { line.isAwaited || store.handIns.count > 0 }
        try await verdict.finish()
        #expect(store.handIns.count == 0)
        engine.cancel()
        #expect(await reader.value == nil)
    }

    private static func lease(_ number: Int) -> Lease {
        Lease(sequence: SequenceNumber(Int64(number)), token: LeaseToken(rawValue: Int64(number)))
    }

    /// A line in which so many leases are held, and whose carrier makes no call.
    private func line(holding count: Int) async throws -> SettleLine {
        let inFlight = InFlight(time: the.time)
        inFlight.add((1...count).map(Self.lease), ending: the.time.boot + .seconds(30))
        let line = SettleLine(the.base, inFlight)
        try await line.manyWentTogether()
        line.beginCarrying {}
        return line
    }

    /// What is about to be settled goes with the carrier's next call.
    @Test func tasksSettleBeforeTheCarrierMakesItsCall() async throws {
        let line = try await line(holding: 9)
        let executor = CountingExecutor()
        let carrier = Task(executorPreference: executor) {
            for number in 1...8 {
                _ = Task(executorPreference: executor) {
                    for _ in 1...2 { await Task.yield() }
                    return try await line.settle(Settlement(Self.lease(number), .done))
                }
            }
            await line.gather()
            return line.leases.count
        }
        #expect(await carrier.value == 8)
        line.endCarrying()
    }

    @Test func theCarrierLetsTasksSettleForAMomentOnly() async throws {
        let line = try await line(holding: 100)
        let executor = CountingExecutor()
        let carrier = Task(executorPreference: executor) { [time = the.time] in
            _ = Task(executorPreference: executor) {
                for number in 1...99 {
                    _ = Task(executorPreference: executor) {
                        try await line.settle(Settlement(Self.lease(number), .done))
                    }
                    time.advance(by: .microseconds(100))
                    await Task.yield()
                }
            }
            await line.gather()
            return line.leases.count
        }
        let count = await carrier.value
        #expect((1...20).contains(count))
        line.endCarrying()
    }

    /// Two tasks that settle one delivery make room for one message.
    @Test func oneDeliveryMakesRoomForOne() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let (loop, lease) = try await oneHeld(queue)
        #expect(loop.holder.inFlight.count(without: [lease, lease]) == 0)
    }
}
