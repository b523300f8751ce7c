import MetricsTestKit
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// Handlers that are chosen by a message's kind, and messages of kinds that a worker does not know.
@Suite(.timeLimit(.minutes(5))) struct KindTests {
    let the = Fixture()

    struct Welcome: MessageKind {
        static let kind = "welcome"
        var user: Int
    }

    struct Invoice: MessageKind {
        var cents: Int
    }

    private final class Seen: Sendable {
        private let all = Mutex<[String]>([])

        func add(_ text: String) { all.withLock { $0.append(text) } }
        var texts: [String] { all.withLock { $0 } }
    }

    private let seen = Seen()

    private func jobs(_ policy: QueuePolicy? = nil) async throws -> Queue<[UInt8]> {
        try await the.store.queue("jobs", policy: policy)
    }

    private func work(
        _ jobs: Queue<[UInt8]>, kinds: Set<String>, _ options: Worker<[UInt8]>.Options = .init(drain: true)
    ) async throws {
        var options = options
        options.kinds = kinds
        try await Worker(jobs, options: options) { [seen] in
            seen.add("\($0.kind ?? "none") \($0.attempt)")
        }.run()
    }

    // MARK: The registry

    @Test func theKindChoosesTheHandler() async throws {
        let jobs = try await jobs()
        try await jobs.enqueue(Welcome(user: 7))
        try await jobs.enqueue(Invoice(cents: 100), options: .init(headers: ["trace": "x"]))
        try await jobs.enqueue([1, 2], options: .init(kind: "bytes"))
        var handlers = Handlers()
        handlers.add(Welcome.self) { [seen] in seen.add("user \($0.payload.user)") }
        handlers.add(Invoice.self) { [seen] delivery in
            seen.add("\(delivery.payload.cents) \(delivery.headers) \(delivery.queue)")
        }
        handlers.add("bytes") { [seen] in seen.add("\($0.payload)") }
        #expect(handlers.kinds == ["welcome", "Invoice", "bytes"])
        try await Worker(jobs, handlers: handlers, options: .init(drain: true)).run()
        #expect(seen.texts.first == "user 7")
        #expect(seen.texts.last == "[1, 2]")
        #expect(seen.texts.count == 3)
        #expect(seen.texts[1].hasPrefix("100 "))
        #expect(seen.texts[1].contains(#""trace": "x""#) && seen.texts[1].contains(#""penstock-kind": "Invoice""#))
        #expect(try await jobs.status().totals.done == 3)
    }

    /// Steps, results and what follows belong to the message, in whichever type its payload is.
    @Test func aHandlerOfAKindHasTheWholeDelivery() async throws {
        let jobs = try await jobs()
        let receipt = try await jobs.enqueue(Welcome(user: 7))
        var handlers = Handlers()
        handlers.add(Welcome.self) { [seen] delivery in
            let twice = try await delivery.step("twice") { delivery.payload.user * 2 }
            if delivery.attempt == 1 { throw RetryAfter(.zero, reason: "again") }
            seen.add("\(twice)")
            try await delivery.done(then: [jobs.draft(Invoice(cents: twice))])
        }
        handlers.add(Invoice.self) { [seen] in seen.add("\($0.payload.cents) cents") }
        try await Worker(jobs, handlers: handlers, options: .init(drain: true)).run()
        #expect(seen.texts == ["14", "14 cents"])
        #expect(try await the.record(receipt).attempt == 2)
    }

    @Test func aPayloadOfAnotherTypeIsADeadLetter() async throws {
        let jobs = try await jobs()
        let receipt = try await jobs.enqueue(Array("{}".utf8), options: .init(kind: "welcome"))
        var handlers = Handlers()
        handlers.add(Welcome.self) { [seen] _ in seen.add("called") }
        try await Worker(jobs, handlers: handlers, options: .init(drain: true)).run()
        let record = try await the.record(receipt)
        #expect(record.state == .dead)
        #expect(record.reason == .undecodable)
        #expect(record.attempts.map(\.outcome) == [.undecodable])
        #expect(seen.texts == [])
    }

    @Test func whatAHandlerThrowsIsItsVerdict() async throws {
        let jobs = try await jobs()
        let receipt = try await jobs.enqueue(Welcome(user: 7))
        var handlers = Handlers()
        handlers.add(Welcome.self) { _ in throw Reject("no") }
        try await Worker(jobs, handlers: handlers, options: .init(drain: true)).run()
        #expect(try await the.record(receipt).reason == .rejected)
    }

    @Test func theTypesKindCountsWhateverTheHeadersSay() async throws {
        let jobs = try await jobs()
        let receipt = try await jobs.enqueue(
            Welcome(user: 1), options: .init(headers: ["penstock-kind": "other", "a": "b"], kind: "third"))
        #expect(try await the.record(receipt).headers == ["penstock-kind": "welcome", "a": "b"])
        // A replay is of the same kind.
        try await the.store.cancel([receipt.sequence])
        #expect(try await the.store.replay(MessageQuery(sequences: [receipt.sequence])) == 1)
        let copies = try await the.base.messages(MessageQuery(queue: jobs.name, after: receipt.sequence))
        #expect(copies.map { $0.headers["penstock-kind"] } == ["welcome"])
    }

    // MARK: Kinds that a worker does not know

    /// Swift takes both texts for equal, and a store does not.
    @Test func aKindIsItsBytes() async throws {
        let jobs = try await jobs()
        try await jobs.enqueue([1], options: .init(kind: "e\u{301}"))
        try await jobs.enqueue([2], options: .init(kind: "\u{e9}"))
        try await work(jobs, kinds: ["\u{e9}"])
        #expect(try await jobs.status().totals.done == 1)
        #expect(seen.texts.map { Array($0.utf8) } == [Array("\u{e9} 1".utf8)])
    }

    @Test func oneOfAnUnknownKindWaitsWithoutAnAttempt() async throws {
        let jobs = try await jobs()
        let receipts = [
            try await jobs.enqueue([1], options: .init(attemptsMax: 1, kind: "new")), try await jobs.enqueue([2]),
            try await jobs.enqueue([3], options: .init(kind: "old")),
        ]
        try await work(jobs, kinds: ["old"])
        // It held up nobody, and the one place was never its.
        #expect(seen.texts == ["old 1"])
        for receipt in receipts[..<2] {
            let record = try await the.record(receipt)
            #expect(record.state == .scheduled)
            #expect(record.attempt == 0)
            #expect(record.attempts == [])
            #expect(record.due == the.time.now + KnownKinds.waitMin)
        }
        // As often as it likes.
        for _ in 1...20 {
            the.time.advance(by: .seconds(60))
            try await work(jobs, kinds: ["old"])
        }
        the.time.advance(by: .seconds(60))
        try await work(jobs, kinds: ["new"])
        #expect(seen.texts == ["old 1", "new 1"])
        #expect(try await the.state(receipts[0]) == .done)
    }

    /// A worker that does not know it looks at it again when it has waited as long again: seldom, and never in a loop.
    @Test func itIsLookedAtLessAndLess() async throws {
        let jobs = try await jobs()
        let receipt = try await jobs.enqueue([1], options: .init(kind: "new"))
        var waits: [Duration] = []
        while waits.count < 14 {
            try await work(jobs, kinds: ["old"])
            let due = try #require(try await the.record(receipt).due)
            waits.append(due - the.time.now)
            the.time.advance(to: due)
        }
        let doubled: [Duration] = (0..<11).map { .milliseconds(100 << max($0 - 1, 0)) }
        #expect(waits == doubled + Array(repeating: KnownKinds.waitMax, count: 3))
    }

    /// However long a worker that does not know it has had it, one that starts then has it before long.
    @Test(arguments: [Duration.milliseconds(10), .seconds(3), .seconds(200)])
    func aWorkerThatKnowsItHasItSoon(passed: Duration) async throws {
        let jobs = try await jobs()
        let receipt = try await jobs.enqueue([1], options: .init(kind: "new"))
        let old = Task {
            try await work(jobs, kinds: ["old"], .init())
        }
        let started = the.time.now
        try await the.whileTimePasses {
            while the.time.now - started < passed { await giveWay() }
            try await eventually { try await the.state(receipt) == .scheduled }
        }
        old.cancel()
        _ = try? await old.value
        let began = the.time.now
        try await the.whileTimePasses { try await work(jobs, kinds: ["new"], .init(max: 1)) }
        #expect(try await the.state(receipt) == .done)
        let record = try await the.record(receipt)
        let waited = (record.finishedAt ?? the.time.now) - began
        #expect(waited <= min(max(began - record.enqueuedAt, .milliseconds(100)), .seconds(60)) + .seconds(5))
    }

    @Test func unknownOnesAreNotCountedAmongAsManyAsAsked() async throws {
        let jobs = try await jobs()
        for number in 1...5 { try await jobs.enqueue([UInt8(number)], options: .init(kind: "new")) }
        for number in 1...3 { try await jobs.enqueue([UInt8(number)], options: .init(kind: "old")) }
        try await work(jobs, kinds: ["old"], .init(concurrency: 2, max: 2))
        #expect(seen.texts == ["old 1", "old 1"])
        let depths = try await jobs.status().depths
        #expect([depths.scheduled, depths.ready, depths.leased] == [5, 1, 0])
    }

    /// Each look at one is a claim, and would be a start: at one in a minute nothing else would ever start.
    @Test func oneOfAnUnknownKindTakesNothingFromARate() async throws {
        let jobs = try await jobs(QueuePolicy(rate: Rate(1, per: .seconds(60))))
        for kind in ["new", "new", "old", "old", "old"] { try await jobs.enqueue([1], options: .init(kind: kind)) }
        let began = the.time.now
        let worker = Task { try await work(jobs, kinds: ["old"], .init()) }
        try await eventually {
            the.time.advance(by: .seconds(1))
            return seen.texts.count == 3 || the.time.now - began > .seconds(1800)
        }
        worker.cancel()
        _ = try? await worker.value
        #expect(seen.texts == ["old 1", "old 1", "old 1"])
        #expect(the.time.now - began < .seconds(600))
    }

    @Test func theyAreMeasuredAsSuspended() async throws {
        let metrics = TestMetrics()
        let the = Fixture(options: .init(metrics: metrics))
        let jobs = try await the.store.queue("jobs")
        try await jobs.enqueue([1], options: .init(kind: "new"))
        try await work(jobs, kinds: ["old"])
        #expect(metrics.counterTotal(label: "penstock.suspended") == 1)
        #expect(metrics.counterTotal(label: "penstock.retried") == 0)
    }

    // MARK: Wrong input

    @Test func kindsThatCannotBeAreRefused() async throws {
        let jobs = try await jobs()
        for kind in ["", "a,b", " a", "a\u{0}", String(repeating: "k", count: 201)] {
            #expect(
                await the.code { try await jobs.enqueue([1], options: .init(kind: kind)) } == .invalidInput, "\(kind)")
            #expect(await the.code { try await work(jobs, kinds: [kind]) } == .invalidInput)
        }
        #expect(await the.code { try await work(jobs, kinds: []) } == .invalidInput)
        #expect(await the.code { try await Worker(jobs, handlers: Handlers()).run() } == .invalidInput)
        var handlers = Handlers()
        handlers.add(Welcome.self) { _ in }
        handlers.add("welcome") { _ in }
        #expect(await the.code { try await Worker(jobs, handlers: handlers).run() } == .invalidInput)
    }
}
