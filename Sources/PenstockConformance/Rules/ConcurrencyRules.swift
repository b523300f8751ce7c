import PenstockCore
import PenstockTestKit
import Testing

/// What holds when many tasks of several processes call at once. A store may gather their calls into one transaction;
/// each caller still gets an answer of its own.
enum ConcurrencyRules {
    static let cases: ConformanceCase.Rules = [
        "every message is worked exactly once": workedOnce,
        "a capacity is held exactly": capacityIsHeld,
        "a key is given once": keyIsGivenOnce,
        "a lease is settled once": leaseIsSettledOnce,
        "a call that fails takes no other with it": failuresAreAlone,
        "a cancelled caller was either heard or not": cancelledCallers,
    ]

    private static func openThree(_ bench: Bench, _ policy: QueuePolicy) async throws -> [any MessageStore] {
        [try await bench.open(policy), try await bench.open(), try await bench.open()]
    }

    /// The answers of `count` calls at once, spread over `stores`.
    private static func together<Answer: Sendable>(
        _ count: Int, on stores: [any MessageStore],
        _ call: @escaping @Sendable (any MessageStore, Int) async throws -> Answer
    ) async throws -> [Answer] {
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for number in 0..<count {
                let store = stores[number % stores.count]
                group.addTask { try await call(store, number) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    static func workedOnce(_ bench: Bench) async throws {
        let stores = try await openThree(bench, .steady())
        let done = Tally()
        let count = 300
        try await withThrowingTaskGroup(of: [SequenceNumber].self) { group in
            for number in 0..<6 {
                let store = stores[number % stores.count]
                group.addTask {
                    for index in 1...(count / 6) { try await store.put("\(number) \(index)") }
                    return []
                }
                group.addTask {
                    var mine: [SequenceNumber] = []
                    while done.count < count {
                        let token = store.changes.token(for: .jobs)
                        let messages = try await store.take(7)
                        let results = try await store.settle(messages.map { Settlement($0.lease, .done) })
                        #expect(results.allSatisfy { $0 == .settled(.done) })
                        mine += messages.map(\.sequence)
                        for _ in messages { done.add() }
                        // The last one leaves nobody behind: a message for the others to wake up by.
                        if done.count >= count { try await store.configure(.jobs, .resume) }
                        if messages.isEmpty, done.count < count {
                            try await store.changes.wait(for: .jobs, after: token)
                        }
                    }
                    return mine
                }
            }
            let worked = try await group.reduce(into: []) { $0 += $1 }
            #expect(Set(worked).count == count)
            #expect(worked.count == count)
        }
        #expect(try await stores[0].totals() == .of(enqueued: count, done: count))
        #expect(try await stores[0].depths() == .of(kept: count))
    }

    static func capacityIsHeld(_ bench: Bench) async throws {
        let stores = try await openThree(bench, .steady(25, .fail))
        let accepted = try await together(90, on: stores) { store, number -> SequenceNumber? in
            do {
                return try await store.put("\(number)")
            } catch let error as PenstockError where error.code == .queueFull {
                return nil
            }
        }
        #expect(accepted.compactMap(\.self).count == 25)
        #expect(Set(accepted.compactMap(\.self)).count == 25)
        #expect(try await stores[0].depths() == .of(ready: 25))

        try await stores[0].configure(.jobs, .set(.steady(25, .wait)))
        _ = try await stores[0].take(15)
        let waiting = try await together(60, on: stores) { store, number in
            try await store.put([.text("\(number)")]).count
        }
        #expect(waiting.reduce(0, +) == 15)

        try await stores[0].configure(.jobs, .set(.steady(25, .dropOldest)))
        let displacing = try await together(60, on: stores) { store, number in
            try await store.put(.text("\(number)")).displaced
        }
        #expect(Set(displacing.compactMap(\.self)).count == 60, "Each displaces another one.")
        #expect(try await stores[0].depths() == .of(ready: 25, leased: 15, kept: 60))
    }

    static func keyIsGivenOnce(_ bench: Bench) async throws {
        let stores = try await openThree(bench, .steady())
        let receipts = try await together(60, on: stores) { store, number in
            try await store.put(.text("\(number)", key: "k"))
        }
        #expect(receipts.count { !$0.skipped } == 1)
        #expect(Set(receipts.map(\.sequence)).count == 1)
        let replacing = try await together(30, on: stores) { store, number in
            try await store.put(.text("\(number)", key: "k", onConflict: .replace))
        }
        #expect(Set(replacing.map(\.sequence)).count == 30)
        #expect(try await stores[0].depths() == .of(ready: 1, kept: 30))
    }

    static func leaseIsSettledOnce(_ bench: Bench) async throws {
        let stores = try await openThree(bench, .steady())
        try await stores[0].put("it")
        let message = try await stores[0].takeOne()
        let verdicts: [Verdict] = [.done, .release, .dead(error: "bad"), .retry(error: "again")]
        let results = try await together(40, on: [stores[0]]) { store, number in
            try await store.give(verdicts[number % verdicts.count], for: message)
        }
        #expect(results.count { $0 != .leaseLost } == 1)
    }

    static func failuresAreAlone(_ bench: Bench) async throws {
        let stores = try await openThree(bench, .steady())
        try await stores[0].configure(.mail, .create(.steady(1, .fail), ifAbsent: false))
        try await stores[0].put("it is full", to: .mail)
        let codes = try await together(90, on: stores) { store, number -> PenstockError.Code? in
            do {
                switch number % 5 {
                case 0: try await store.put("x", to: QueueName(stored: "nowhere"))
                case 1: try await store.put("x", to: .mail)
                case 2: try await store.put(.text("x", priority: 999))
                case 3: _ = try await store.apply(.cancel, to: .sequences([SequenceNumber(999_999)]))
                default: try await store.put("good")
                }
                return nil
            } catch let error as PenstockError {
                return error.code
            }
        }
        let expected: [PenstockError.Code?] = [.unknownQueue, .queueFull, .invalidInput, .unknownMessage, nil]
        for code in expected { #expect(codes.count { $0 == code } == 18, "\(code?.rawValue ?? "good")") }
        #expect(try await stores[0].depths() == .of(ready: 18))
        #expect(try await stores[0].depths(.mail) == .of(ready: 1))
    }

    static func cancelledCallers(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let callers = (0..<60).map { number in
            Task { try await store.put("\(number)") }
        }
        let random = SeededRandom(seed: 60)
        for caller in callers where random.chance(0.5) { caller.cancel() }
        var heard: [SequenceNumber] = []
        for caller in callers {
            switch await caller.result {
            case .success(let sequence): heard.append(sequence)
            case .failure(let error): #expect(error is CancellationError, "\(error)")
            }
        }
        #expect(try await store.messages(MessageQuery()).map(\.sequence) == heard.sorted())
    }
}
