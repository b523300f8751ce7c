import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Verdicts that wait for the store go together, and each task is told what became of its own.
@Suite(.timeLimit(.minutes(5))) struct SettleLineTests {
    /// Answers verdicts when it is told to.
    private final class HeldStore: ForwardingStore {
        let base: any MessageStore = InMemoryStore(time: ManualTime())
        let batches = Mutex<[[Int64]]>([])
        let begun = Tally()
        let mayAnswer = Latch()
        /// What a call with this lease fails with.
        let failing = Mutex<(sequence: Int64, error: PenstockError)?>(nil)

        func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
            let sequences = settlements.map { $0.lease.sequence.rawValue }
            batches.withLock { $0.append(sequences) }
            begun.add()
            await mayAnswer.waitThoughCancelled()
            try Task.checkCancellation()
            if let failing = failing.withLock({ $0 }), sequences.contains(failing.sequence) { throw failing.error }
            return settlements.map { _ in .settled(.done) }
        }
    }

    private let store = HeldStore()
    private let inFlight = InFlight(time: ManualTime())
    private let line: SettleLine

    init() {
        line = SettleLine(store, inFlight)
        inFlight.add((1...9).map(Self.lease), ending: ManualTime().boot + .seconds(30))
    }

    private static func lease(_ number: Int) -> Lease {
        Lease(sequence: SequenceNumber(Int64(number)), token: LeaseToken(rawValue: Int64(number)))
    }

    private func settle(_ number: Int, _ verdict: Verdict = .done) -> Task<SettleResult, any Error> {
        Task { [line] in try await line.settle(Settlement(Self.lease(number), verdict)) }
    }

    /// One whose call is under way, and `numbers` that wait behind it, in this order.
    private func settle(_ first: Int, then numbers: [Int]) async throws -> [Task<SettleResult, any Error>] {
        var tasks = [settle(first)]
        try await store.begun.wait(for: 1)
        for (index, number) in numbers.enumerated() {
            tasks.append(settle(number))
            try await eventually { line.leases.count == index + 1 }
        }
        return tasks
    }

    @Test func whatComesDuringACallGoesTogetherInTheNext() async throws {
        let tasks = try await settle(1, then: [2, 3, 4])
        store.mayAnswer.open()
        for task in tasks { #expect(try await task.value == .settled(.done)) }
        #expect(store.batches.withLock { $0 } == [[1], [2, 3, 4]])
        #expect(inFlight.count() == 5)
    }

    @Test func theCarrierIsWokenAndTakesAll() async throws {
        let woken = Tally()
        line.beginCarrying { woken.add() }
        let tasks = [settle(1), settle(2)]
        try await eventually { line.leases.count == 2 }
        #expect(woken.count == 1)
        let entries = line.take()
        line.answer(entries, entries.map { _ in .settled(.done) })
        for task in tasks { #expect(try await task.value == .settled(.done)) }
        #expect(store.batches.withLock { $0 } == [])
        #expect(inFlight.count() == 7)
    }

    @Test func whatTheCarrierLeavesIsHandedInByTheNext() async throws {
        line.beginCarrying {}
        let tasks = [settle(1), settle(2)]
        try await eventually { line.leases.count == 2 }
        store.mayAnswer.open()
        line.endCarrying()
        for task in tasks { #expect(try await task.value == .settled(.done)) }
        #expect(store.batches.withLock { $0.map(Set.init) } == [[1, 2]])
    }

    /// A carrier that comes while a task hands in takes what waits then; nobody is woken for that.
    @Test func aCarrierThatComesLaterFindsWhatWaits() async throws {
        let tasks = try await settle(1, then: [2])
        line.beginCarrying {}
        store.mayAnswer.open()
        #expect(try await tasks[0].value == .settled(.done))
        #expect(!line.isEmpty)
        let entries = line.take()
        line.answer(entries, [.leaseLost])
        #expect(try await tasks[1].value == .leaseLost)
    }

    @Test func verdictsThatFailTogetherAreHandedInAlone() async throws {
        store.failing.withLock { $0 = (3, PenstockError(.storage, "This one cannot be.")) }
        let tasks = try await settle(1, then: [2, 3, 4])
        store.mayAnswer.open()
        #expect(try await tasks[1].value == .settled(.done))
        await #expect(throws: PenstockError.self) { try await tasks[2].value }
        #expect(try await tasks[3].value == .settled(.done))
        #expect(store.batches.withLock { $0 } == [[1], [2, 3, 4], [2], [3], [4]])
    }

    /// Each would wait as long again.
    @Test func aStoreThatTakesNothingIsAskedOnce() async throws {
        store.failing.withLock { $0 = (3, PenstockError(.busy, "Somebody else has it.")) }
        let tasks = try await settle(1, then: [2, 3])
        store.mayAnswer.open()
        for task in tasks.dropFirst() { await #expect(throws: PenstockError.self) { try await task.value } }
        #expect(store.batches.withLock { $0 } == [[1], [2, 3]])
        #expect(inFlight.count() == 8)
    }

    @Test func aVerdictThatCannotBeStopsNoOther() async throws {
        let tasks = try await settle(1, then: [2])
        let wrong = settle(3, .retry(error: "no", after: .seconds(-1)))
        await #expect(throws: PenstockError.self) { try await wrong.value }
        store.mayAnswer.open()
        for task in tasks { #expect(try await task.value == .settled(.done)) }
        #expect(store.batches.withLock { $0 } == [[1], [2]])
    }

    /// The verdicts of others go with its own.
    @Test func aTaskThatIsCancelledHandsInAllTheSame() async throws {
        let tasks = try await settle(1, then: [2, 3])
        tasks[1].cancel()
        store.mayAnswer.open()
        for task in tasks { #expect(try await task.value == .settled(.done)) }
    }

    @Test func whileTheCarrierIsAwayVerdictsGoWithoutIt() async throws {
        store.mayAnswer.open()
        line.beginCarrying {}
        let early = settle(1)
        try await eventually { line.leases.count == 1 }
        let results = try await line.whileAway {
            let first = try await early.value
            let second = try await line.whileAway { try await settle(2).value }
            return [first, second, try await settle(3).value]
        }
        #expect(results == [.settled(.done), .settled(.done), .settled(.done)])
        let late = settle(4)
        try await eventually { line.leases.count == 1 }
        #expect(store.batches.withLock { $0 } == [[1], [2], [3]])
        line.endCarrying()
        #expect(try await late.value == .settled(.done))
    }

    /// It would claim in the place of a message that is not settled.
    @Test func theCarrierComesBackWhenNoVerdictIsOnItsWay() async throws {
        line.beginCarrying {}
        let (left, back) = (Latch(), Tally())
        let carrier = Task {
            await line.whileAway { await left.waitThoughCancelled() }
            back.add()
        }
        let handedIn = settle(1)
        try await store.begun.wait(for: 1)
        let waiting = settle(2)
        try await eventually { line.leases.count == 1 }
        left.open()
        try await eventually { line.isAwaited }
        #expect(back.count == 0)
        store.mayAnswer.open()
        await carrier.value
        #expect(try await handedIn.value == .settled(.done))
        #expect(store.batches.withLock { $0 } == [[1]], "What still waits is the carrier's again.")
        line.endCarrying()
        #expect(try await waiting.value == .settled(.done))
    }

    /// Tasks that never wait may have all threads, and be many: behind them it would come late, or after its lease has ended.
    @Test(arguments: [(1, true), (2, false)])
    func aVerdictThatIsAloneWaitsForNoOtherTask(_ leases: Int, isAtOnce: Bool) async throws {
        let inFlight = InFlight(time: ManualTime())
        inFlight.add((1...leases).map(Self.lease), ending: ManualTime().boot + .seconds(30))
        let line = SettleLine(store, inFlight)
        let executor = CountingExecutor()
        let task = Task(executorPreference: executor) {
            try await line.settle(Settlement(Self.lease(1), .done))
        }
        try await store.begun.wait(for: 1)
        #expect((executor.count.count == 1) == isAtOnce)
        store.mayAnswer.open()
        #expect(try await task.value == .settled(.done))
    }

    /// It comes for more in a moment, and then one call is for all.
    @Test func verdictsGoWithAReaderThatIsHandingOut() async throws {
        try await line.manyWentTogether()
        let executor = CountingExecutor()
        let reader = Task(executorPreference: executor) { [line] in
            var verdicts: [Task<SettleResult, any Error>] = []
            for number in 1...8 {
                line.handsOut()
                verdicts.append(
                    Task(executorPreference: executor) {
                        try await line.settle(Settlement(Self.lease(number), .done))
                    })
                await Task.yield()
            }
            line.beginCarrying {}
            return verdicts
        }
        let verdicts = await reader.value
        try await eventually { line.leases.count == 8 || store.begun.count > 0 }
        store.mayAnswer.open()
        #expect(store.batches.withLock { $0 } == [])
        let entries = line.take()
        line.answer(entries, entries.map { _ in .settled(.done) })
        line.endCarrying()
        for verdict in verdicts { #expect(try await verdict.value == .settled(.done)) }
    }

    /// Nobody knows when a reader comes that goes on handing out.
    @Test func aVerdictWaitsForAReaderForAMomentOnly() async throws {
        let time = ManualTime()
        let inFlight = InFlight(time: time)
        inFlight.add((1...2).map(Self.lease), ending: time.boot + .seconds(30))
        let line = SettleLine(store, inFlight)
        try await line.manyWentTogether()
        try await expectVerdict(by: line, handingOut: 100) { time.advance(by: .microseconds(100)) }
    }

    /// Nothing is gained by that where the program settles one message after the other.
    @Test func aVerdictWaitsForNoReaderWhereVerdictsGoAlone() async throws {
        try await expectVerdict(by: line, handingOut: 2) {}
    }

    /// Has a verdict handed in beside a reader on the same executor, and expects it to be on its way before that has handed out more than
    /// `countMax` times.
    private func expectVerdict(
        by line: SettleLine, handingOut countMax: Int, _ passTime: @escaping @Sendable () -> Void
    ) async throws {
        let executor = CountingExecutor()
        let reader = Task(executorPreference: executor) { [store] in
            let verdict = Task(executorPreference: executor) {
                try await line.settle(Settlement(Self.lease(1), .done))
            }
            for _ in 1...countMax where store.begun.count == 0 {
                line.handsOut()
                passTime()
                await Task.yield()
            }
            return (begun: store.begun.count, verdict: verdict)
        }
        let (begun, verdict) = await reader.value
        #expect(begun == 1)
        store.mayAnswer.open()
        #expect(try await verdict.value == .settled(.done))
    }

    /// A claim that does not go with the verdict must not overtake it.
    @Test func whatIsClaimedForAVerdictGoesWithItOrAfterIt() async throws {
        let told = Tally()
        let handedIn = Task { [line] in
            try await line.settle(Settlement(Self.lease(1), .done)) { told.add() }
        }
        try await store.begun.wait(for: 1)
        #expect(told.count == 0)
        store.mayAnswer.open()
        _ = try await handedIn.value
        #expect(told.count == 0, "The caller knows now.")
        line.beginCarrying {}
        let carried = Task { [line] in
            try await line.settle(Settlement(Self.lease(2), .done)) { told.add() }
        }
        try await eventually { line.leases.count == 1 }
        try await told.wait(for: 1)
        line.endCarrying()
        _ = try await carried.value
    }
}
