import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Steps of one name: none ever gets what another has on record.
@Suite(.timeLimit(.minutes(5))) struct StepNameTests {
    let the = Fixture()

    struct Broken: Error {}

    private func steps(_ receipt: Receipt) async throws -> [String] {
        try await the.store.journal(of: receipt.sequence).steps.map(\.name.text)
    }

    @Test func aStepThatFailedIsTriedByTheNextAttemptUnderItsName() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        let runs = Tally()
        for _ in 1...2 {
            try await the.drain(queue) { delivery in
                try await delivery.step("s") { if runs.add() == 1 { throw Broken() } }
            }
            the.time.advance(by: .seconds(600))
        }
        #expect(try await steps(receipt) == ["s"])
        #expect(try await the.state(receipt) == .done)
    }

    /// A later attempt has the outer step from the record, and the inner one's name would be another's.
    @Test func aStepWithinAStepIsRefused() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipts = try await queue.enqueue(contentsOf: [1, 2, 3])
        let taken = Tally()
        try await the.drain(queue) { delivery in
            @Sendable func fetch() async throws { try await delivery.step("fetch") { _ = taken.add() } }
            // What the handler makes of the error does not count.
            try? await delivery.step("customer") {
                switch delivery.payload {
                case 1: try await fetch()
                case 2: try await delivery.sleep("a while", for: .seconds(1))
                default: _ = try await delivery.event("paid", as: Int.self)
                }
            }
        }
        #expect(taken.count == 0)
        for receipt in receipts {
            let record = try await the.record(receipt)
            #expect((record.state, record.attempts.count) == (.scheduled, 1))
            #expect(record.attempts.first?.error.contains("within another step") == true)
        }
    }

    /// What a step calls may work on another message.
    @Test func aStepOfAnotherMessageIsNoneWithinIt() async throws {
        let (queue, other) = (try await the.queue(policy: .exact), try await the.store.queue("other", of: Int.self))
        let receipt = try await queue.enqueue(1)
        try await other.enqueue(2)
        try await the.drain(queue) { delivery in
            try await delivery.step("outer") {
                var deliveries = other.deliveries().makeAsyncIterator()
                let inner = try await deliveries.next()
                try await inner?.step("inner") {}
                try await inner?.done()
            }
        }
        #expect(try await the.state(receipt) == .done)
        #expect(try await other.status().totals.done == 1)
    }

    /// The error of one item is kept from the worker, and the next item must not take its place.
    @Test func inALoopNoItemGetsTheRecordOfAnother() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        let sent = Mutex<[Int]>([])
        let runs = Tally()
        for _ in 1...2 {
            try await the.drain(queue) { delivery in
                let run = runs.add()
                for item in 1...3 {
                    let given = try? await delivery.step("send") {
                        if run == 1, item == 2 { throw Broken() }
                        sent.withLock { $0.append(item) }
                        return item
                    }
                    #expect(given == nil || given == item)
                }
            }
            if runs.count == 1 {
                let record = try await the.record(receipt)
                #expect((record.state, record.attempts.count) == (.scheduled, 1))
                #expect(record.attempts.first?.error.contains("put the item into the name") == true)
            }
            the.time.advance(by: .seconds(600))
        }
        #expect(sent.withLock { $0 } == [1, 2, 3])
        #expect(try await steps(receipt) == ["send", "send#2", "send#3"])
        #expect(try await the.state(receipt) == .done)
    }

    @Test func itemsThatAreInTheNameGoOnWithoutEachOther() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        try await the.drain(queue) { delivery in
            for item in 1...3 {
                try? await delivery.step("send \(item)") { if item == 2 { throw Broken() } }
            }
        }
        #expect(try await steps(receipt) == ["send 1", "send 3"])
        #expect(try await the.state(receipt) == .done)
    }

    @Test func stepsAtTheSameTimeHaveNamesOfTheirOwn() async throws {
        let queue = try await the.queue(policy: .exact)
        let receipt = try await queue.enqueue(1)
        let (begun, ended) = (Latch(), Latch())
        try await the.drain(queue) { [the] delivery in
            let first = Task {
                try await delivery.step("s") {
                    begun.open()
                    try await ended.wait()
                }
            }
            try await begun.wait()
            #expect(await the.code { try await delivery.step("s") {} } == .invalidInput)
            ended.open()
            // What it did is not recorded, or the next attempt's other one could get it.
            #expect(await the.code { try await first.value } == .invalidInput)
        }
        #expect(try await steps(receipt) == [])
        let record = try await the.record(receipt)
        #expect((record.state, record.attempts.count) == (.scheduled, 1))
    }

    @Test func theLongestNamesHaveRoomForTheirNumbers() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let name = String(repeating: "s", count: Limits.givenStepNameBytesMax)
        try await the.drain(queue) { delivery in for _ in 1...3 { try await delivery.step(name) {} } }
        #expect(try await steps(receipt) == [name, "\(name)#2", "\(name)#3"])
        #expect("\(name)#\(Limits.stepCountMax)".utf8.count <= Limits.stepNameBytesMax)
    }

    @Test func anEventOfTheLongestNameCanBeWaitedFor() async throws {
        let queue = try await the.queue()
        let receipt = try await queue.enqueue(1)
        let name = String(repeating: "e", count: Limits.eventNameBytesMax)
        #expect(throws: PenstockError.self) { try EventName(name + "e") }
        #expect("\(name)#missed#\(Limits.stepCountMax)".utf8.count <= Limits.stepNameBytesMax)
        let got = Mutex<[String?]>([])
        let work: Worker<Int>.Handler = { delivery in
            for _ in 1...2 {
                let word = try await delivery.event(name, as: String.self, timeout: .seconds(60))
                got.withLock { $0.append(word) }
            }
        }
        try await the.drain(queue, work)
        the.time.advance(by: .seconds(60))
        try await the.drain(queue, work)
        try await the.store.emit(name, "word", to: .message(receipt.sequence))
        try await the.drain(queue, work)
        #expect(got.withLock { $0 } == [nil, nil, "word"])
        #expect(try await the.state(receipt) == .done)
    }
}
