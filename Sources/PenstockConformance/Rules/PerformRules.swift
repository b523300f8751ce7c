import PenstockCore
import PenstockTestKit
import Testing

/// Operations that go together.
enum PerformRules {
    static let cases =
        ConformanceCase.rules(
            of: "perform",
            [
                "each operation finds what those before it did": goesInOrder,
                "verdicts and a claim go together": settlesAndClaims,
                "no operations do nothing": nothingToDo,
                "the first operation's failure is the call's": firstFails,
                "a failure undoes nothing before it and stops what comes after it": laterFails,
                "an operation that cannot be fails in its turn": invalidInTurn,
                "a full queue that waits ends the call": fullQueueEndsTheCall,
                "rings for what it put in line": rings,
                "rings no worker for what it claims itself": ringsNoWorkerForItsOwn,
                "a dead process's operations are all there": survivesItsProcess,
                "says once that what it did is as durable as it was asked to be": saysThatItIsFlushed,
            ])
        + (1...10).map { seed in
            ConformanceCase("perform", "goes as its operations one by one, seed \(seed)") { bench in
                try await goesAsOneByOne(bench, SeededRandom(seed: seed))
            }
        }

    private static func enqueue(_ texts: String..., to queue: QueueName = .jobs) -> StoreOperation {
        .enqueue(texts.map { .text($0) }, to: queue, durability: .processCrash)
    }

    private static func claim(_ limit: Int, from queue: QueueName = .jobs) -> StoreOperation {
        .claim(ClaimRequest(queue: queue, limit: limit, lease: .seconds(30)))
    }

    static func goesInOrder(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .dropOldest))
        let performed = try await store.perform([
            enqueue("1", "2"), claim(1), enqueue("3"), enqueue("4"), claim(5), enqueue("5"),
        ])
        #expect(performed.failure == nil)
        #expect(performed.answers.map(\.text) == ["ready ready", "1", "ready", "ready", "3 4", "ready"])
        #expect(try await store.depths() == .of(ready: 1, leased: 3, kept: 1))
        #expect(try await store.totals() == .of(enqueued: 5, dropped: 1))
        #expect(try await store.drain() == ["5"])
    }

    static func settlesAndClaims(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put([.text("1"), .text("2"), .text("3")])
        let held = try await store.take(2)
        let settle = StoreOperation.settle([
            Settlement(held[0].lease, .done), Settlement(held[1].lease, .release), Settlement(held[0].lease, .done),
        ])
        let performed = try await store.perform([settle, claim(3)])
        #expect(performed.answers.map(\.text) == ["done ready lost", "2 3"])
        #expect(try await store.depths() == .of(leased: 2, kept: 1))
    }

    static func nothingToDo(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        #expect(try await store.perform([]).answers.isEmpty)
        let performed = try await store.perform([.settle([]), claim(1)])
        #expect(performed.answers.map(\.text) == ["", ""])
    }

    static func saysThatItIsFlushed(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .fail))
        let calls: [[StoreOperation]] = [
            [], [claim(1)], [claim(1)], [.enqueue([.text("1")], to: .jobs, durability: .powerLoss), claim(1)],
            [enqueue("2"), claim(0)],
        ]
        for operations in calls {
            let flushed = Tally()
            let told = try await withCheckedThrowingContinuation { continuation in
                Task {
                    _ = try await store.perform(operations) { failure in
                        if flushed.add() == 1 { continuation.resume(returning: failure == nil) }
                    }
                }
            }
            #expect(told)
            #expect(flushed.count == 1)
        }
        let flushed = Tally()
        await expect(.unknownQueue) {
            try await store.perform([claim(1, from: .mail)]) { _ in flushed.add() }
        }
        #expect(flushed.count == 0)
    }

    static func firstFails(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        await expect(.unknownQueue) { try await store.perform([claim(1, from: .mail), enqueue("1")]) }
        await expect(.invalidInput) { try await store.perform([claim(0), enqueue("1")]) }
        #expect(try await store.depths() == .of())
    }

    static func laterFails(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .fail))
        let performed = try await store.perform([enqueue("1"), enqueue("2", "3"), enqueue("4"), claim(1)])
        #expect(performed.answers.map(\.text) == ["ready"])
        #expect((performed.failure as? PenstockError)?.code == .queueFull)
        #expect(try await store.drain() == ["1"])

        let claimed = try await store.perform([enqueue("5"), claim(1, from: .mail)])
        #expect((claimed.failure as? PenstockError)?.code == .unknownQueue)
        #expect(try await store.drain() == ["5"])
    }

    static func invalidInTurn(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let performed = try await store.perform([enqueue("1"), claim(0), enqueue("2")])
        #expect(performed.answers.map(\.text) == ["ready"])
        #expect((performed.failure as? PenstockError)?.code == .invalidInput)
        #expect(try await store.drain() == ["1"])
    }

    static func fullQueueEndsTheCall(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(2, .wait))
        let performed = try await store.perform([enqueue("1"), enqueue("2", "3"), claim(1), enqueue("4")])
        #expect(performed.answers.map(\.text) == ["ready", "ready"])
        #expect(performed.failure == nil)
        #expect(try await store.drain() == ["1", "2"])

        let again = try await store.perform([enqueue("3", "4", "5"), claim(0)])
        #expect(again.failure == nil, "What cannot be is not come to.")
        #expect(again.answers.map(\.text) == ["ready ready"])
    }

    static func rings(_ bench: Bench) async throws {
        let (store, other) = (try await bench.open(.steady()), try await bench.open())
        let token = other.changes.token(for: .jobs)
        _ = try await store.perform([claim(1), enqueue("1")])
        try await other.changes.wait(for: .jobs, after: token)
        #expect(try await other.takeOne().text == "1")
    }

    static func ringsNoWorkerForItsOwn(_ bench: Bench) async throws {
        let listeners = [try await bench.open(.steady()), try await bench.open()]
        // What was done before may be heard of late, in the first round.
        var isQuiet = false
        for round in 1...5 where !isQuiet {
            let tokens = listeners.map { $0.changes.token(for: .jobs) }
            let performed = try await listeners[0].perform([enqueue("\(round)"), claim(1)])
            #expect(performed.answers.map(\.text) == ["ready", "\(round)"])
            isQuiet = true
            for (changes, token) in zip(listeners.map(\.changes), tokens) {
                // A task that follows the log is told.
                try await changes.wait(for: .jobs, after: token)
                let call = changes.callForWork(in: .jobs, after: token, room: 1) {}
                isQuiet = isQuiet && call != nil
                call.map(changes.cancel)
            }
        }
        #expect(isQuiet, "There is nothing for a worker.")
        let tokens = listeners.map { $0.changes.token(for: .jobs) }
        _ = try await listeners[0].perform([enqueue("a", "b"), claim(1)])
        for (changes, token) in zip(listeners.map(\.changes), tokens) {
            try await changes.waitForWork(in: .jobs, after: token)
        }
        #expect(try await listeners[1].drain() == ["b"])
    }

    static func survivesItsProcess(_ bench: Bench) async throws {
        let (store, other) = (try await bench.open(.steady()), try await bench.open())
        let held = try await store.putAndTake("1")
        _ = try await store.perform([.settle([Settlement(held.lease, .done)]), enqueue("2", "3"), claim(1)])
        try await bench.crash(store)
        #expect(try await other.reclaim().fromDeadWorkers == 1)
        #expect(try await other.drain().sorted() == ["2", "3"])
        #expect(try await other.totals().done == 1)
    }

    /// The same operations on two queues: in lists on the one, each by its own call on the other.
    static func goesAsOneByOne(_ bench: Bench, _ random: SeededRandom) async throws {
        let whenFull = random.pick([OverflowPolicy.dropNewest, .dropOldest, .wait, .fail]) ?? .wait
        let policy = QueuePolicy.steady(random.next(in: 1...6), whenFull)
        let store = try await bench.open(policy, mail: policy)
        var held: [QueueName: [ClaimedMessage]] = [:]

        func operation(_ kind: Int, _ count: Int, in queue: QueueName, _ number: Int) -> StoreOperation {
            switch kind {
            case 0, 1:
                return .enqueue(
                    (0..<count).map { .text("\(number).\($0)", priority: $0 % 2) }, to: queue, durability: .processCrash
                )
            case 2: return claim(count, from: queue)
            default:
                let settled = held[queue, default: []].prefix(count)
                held[queue, default: []].removeFirst(settled.count)
                return .settle(settled.map { Settlement($0.lease, count == 2 ? .release : .done) })
            }
        }
        /// What the operations gave, and whether those after them would not be carried out.
        func perform(_ operations: [StoreOperation], in queue: QueueName) async -> (texts: [String], isCut: Bool) {
            do {
                let performed = try await store.perform(operations)
                for case .claimed(let claim) in performed.answers { held[queue, default: []] += claim.messages }
                let failure = (performed.failure as? PenstockError).map(\.code.rawValue)
                let isCut = zip(operations, performed.answers).contains { operation, answer in
                    guard case .enqueue(let messages, _, _) = operation, case .enqueued(let receipts) = answer else {
                        return false
                    }
                    return receipts.count < messages.count
                }
                return (performed.answers.map(\.text) + [failure].compactMap(\.self), isCut)
            } catch {
                return (["\((error as? PenstockError)?.code.rawValue ?? "\(error)")"], true)
            }
        }
        for number in 0..<12 {
            let plan = (0..<random.next(in: 1...6)).map { _ in (random.next(in: 0...3), random.next(in: 1...4)) }
            // Verdicts are on what was held before the list. What it does not come to stays leased, in both.
            func operations(in queue: QueueName) -> [StoreOperation] {
                plan.enumerated().map { operation($1.0, $1.1, in: queue, number * 10 + $0) }
            }
            let (list, alone) = (operations(in: .jobs), operations(in: .mail))
            let together = await perform(list, in: .jobs)
            var oneByOne: [String] = []
            for operation in alone {
                let (texts, isCut) = await perform([operation], in: .mail)
                oneByOne += texts
                if isCut { break }
            }
            #expect(together.texts == oneByOne, "list \(number) with \(whenFull)")
            #expect(try await store.depths() == (try await store.depths(.mail)))
        }
        #expect(try await store.totals() == (try await store.totals(.mail)))
        #expect(try await store.drain() == (try await store.drain(.mail)))
    }
}

extension StoreAnswer {
    /// What it says, without numbers that only the store knows.
    fileprivate var text: String {
        switch self {
        case .enqueued(let receipts): receipts.map { $0.state?.rawValue ?? "forgotten" }.joined(separator: " ")
        case .claimed(let claim): claim.messages.map(\.text).joined(separator: " ")
        case .settled(let results):
            results.map {
                if case .settled(let state) = $0 { state.rawValue } else { "lost" }
            }.joined(separator: " ")
        }
    }
}
