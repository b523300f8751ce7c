import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Steps of handlers: taken once, and told from the record afterwards.
@Suite(.timeLimit(.minutes(5))) struct StepTests {
    let the = Fixture()

    struct Broken: Error {}
    struct Charge: Codable, Equatable {
        var cents: Int
    }

    @Test func aStepThatIsOverIsNotTakenAgain() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        let (taken, runs) = (Tally(), Tally())
        for _ in 1...3 {
            try await the.drain(queue) { delivery in
                let charge = try await delivery.step("charge") { Charge(cents: 100 * taken.add()) }
                #expect(charge == Charge(cents: 100))
                try await delivery.step("nothing") { _ = taken.add() }
                if runs.add() < 3 { throw Broken() }
            }
            the.time.advance(by: .seconds(600))
        }
        #expect(try await the.state(receipt) == .done)
        #expect((taken.count, runs.count) == (2, 3))
        let steps = try await the.store.journal(of: receipt.sequence).steps
        #expect(steps.map(\.name.text) == ["charge", "nothing"])
        #expect(String(decoding: steps[0].result, as: UTF8.self) == #"{"cents":100}"#)
    }

    @Test func theStoreIsReadOnceInAnAttempt() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        try await the.drain(queue) { delivery in
            #expect(the.calls.calls(of: .journal).count == 0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 1...5 { group.addTask { try await delivery.step("s\(number)") {} } }
                try await group.waitForAll()
            }
        }
        #expect(the.calls.calls(of: .journal).count == 1)
        #expect(the.calls.calls(of: .record).count == 5)
    }

    @Test func aSecondStepOfANameHasANumber() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let given = Mutex<[Int]>([])
        try await the.drain(queue) { delivery in
            for number in 1...3 {
                let got = try await delivery.step("s") { number }
                given.withLock { $0.append(got) }
            }
        }
        #expect(given.withLock { $0 } == [1, 2, 3])
        #expect(try await the.store.journal(of: receipt.sequence).steps.map(\.name.text) == ["s", "s#2", "s#3"])
    }

    /// The handler would wait for as long as its lease is extended.
    @Test func aStepThatNoLaterTryCanRecordEndsAtOnce() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        var failure = PenstockError(.storage, "The disk has reported an error.")
        failure.needsReopening = true
        the.calls.fail(every: [.record], with: failure)
        try await the.drain(queue) { delivery in
            let code = await the.code { try await delivery.step("charge") {} }
            #expect(code == .storage)
        }
        #expect(the.calls.calls(of: .record).count == 1)
    }

    @Test(arguments: ["", "a#2", " a", String(repeating: "a", count: Limits.givenStepNameBytesMax + 1)])
    func aNameThatCannotBeIsRefusedBeforeTheStepIsTaken(name: String) async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        let taken = Tally()
        try await the.drain(queue) { delivery in
            let code = await the.code { try await delivery.step(name) { _ = taken.add() } }
            #expect(code == .invalidInput)
        }
        #expect(taken.count == 0)
    }

    @Test func bytesAreKeptAsTheyAre() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { delivery in
            let given = try await delivery.step("s") { [0, 255] as [UInt8] }
            #expect(given == [0, 255])
        }
        #expect(try await the.store.journal(of: receipt.sequence).steps.map(\.result) == [[0, 255]])
    }

    @Test func whatIsOnRecordAndCannotBeReadIsSaid() async throws {
        let queue = try await the.queue(policy: .exact)
        try await queue.enqueue(1)
        try await the.drain(queue) { delivery in
            _ = try await delivery.step("s") { "text" }
            throw Broken()
        }
        the.time.advance(by: .seconds(600))
        try await the.drain(queue) { delivery in
            #expect(await the.code { _ = try await delivery.step("s") { 1 } } == .undecodable)
        }
    }

    // MARK: Leases

    @Test func withoutItsLeaseAnAttemptTakesNoStep() async throws {
        // No ring tells it before it asks.
        let the = Fixture(silent)
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let taken = Tally()
        try await the.drain(queue) { delivery in
            // Its own handle does not know yet, so this step is taken, and finds out.
            try await the.store.cancelNow([receipt.sequence])
            #expect(await the.code { try await delivery.step("a") { _ = taken.add() } } == .leaseLost)
            // The thread that began this task may not have gone on since, and it is the one that cancels it then.
            while !Task.isCancelled { await Task.yield() }
            #expect(await the.code { try await delivery.step("b") { _ = taken.add() } } == .leaseLost)
        }
        #expect(taken.count == 1)
        #expect(try await the.store.journal(of: receipt.sequence).steps.isEmpty)
    }

    @Test func eachStepExtendsTheLease() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        for try await delivery in queue.deliveries(lease: .seconds(10)) {
            for _ in 1...4 {
                the.time.advance(by: .seconds(8))
                #expect(try await the.base.reclaim() == Reclaimed())
                try await delivery.step("s") {}
            }
            try await delivery.done()
            break
        }
    }

    @Test func aLeaseThatWasMadeLongerIsNotMadeShorter() async throws {
        let queue = try await the.queue()
        try await queue.enqueue(1)
        for try await delivery in queue.deliveries(lease: .seconds(10)) {
            try await delivery.extend(by: .seconds(3600))
            try await delivery.step("s") {}
            the.time.advance(by: .seconds(3000))
            #expect(try await the.base.reclaim() == Reclaimed())
            try await delivery.done()
            break
        }
    }

    @Test func whatAHandlerHasDoneAfterItsTimeIsOnRecordAllTheSame() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        let begun = Latch()
        let worker = Worker(queue, options: .init(timeout: .seconds(5), drain: true)) { delivery in
            try await delivery.step("s") {
                begun.open()
                // It has an effect that nothing cancels.
                while !Task.isCancelled { await Task.yield() }
            }
            try Task.checkCancellation()
        }
        let run = Task { try await worker.run() }
        try await begun.wait()
        the.time.advance(by: .seconds(6))
        try await run.value
        #expect(try await the.store.journal(of: receipt.sequence).steps.map(\.name.text) == ["s"])
        #expect(try await the.record(receipt).attempts.map(\.outcome) == [.timedOut])
    }

    // MARK: Failures of the store

    @Test(arguments: [FaultyStore.Side.before, .after])
    func aRecordThatTheStoreDidNotTakeIsOfferedAgain(side: FaultyStore.Side) async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let taken = Tally()
        the.calls.fail(.record, side, with: PenstockError(.busy, "Somebody else writes."))
        try await the.whileTimePasses { [the] in
            try await the.drain(queue) { delivery in _ = try await delivery.step("s") { taken.add() } }
        }
        #expect(taken.count == 1)
        #expect(try await the.state(receipt) == .done)
    }

    @Test func aJournalThatCannotBeReadIsReadAtTheNextStep() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        the.calls.fail(.journal)
        try await the.drain(queue) { delivery in
            #expect(await the.code { try await delivery.step("s") {} } == .storage)
            try await delivery.step("next") {}
        }
        #expect(try await the.store.journal(of: receipt.sequence).steps.map(\.name.text) == ["next"])
    }
}
