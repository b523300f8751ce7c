import PenstockCore
import PenstockTestKit
import Testing

/// What is forgotten, and what is not.
enum PruneRules {
    static let cases: ConformanceCase.Rules = [
        "forgets by age": byAge,
        "keeps a number of messages": byCount,
        "forgets by age or count, whichever comes first": byEither,
        "keeps dead letters, unless their age is bounded": deadLetters,
        "never forgets what waits or runs": neverTheLiving,
        "takes nothing of what lies in between": takesNothingInBetween,
        "goes in steps": goesInSteps,
        "goes in steps over all queues": goesInStepsOverQueues,
        "goes by each queue's policy, or the one asked for": byQueue,
        "checks its input": checksInput,
    ]

    private static func pruneAll(_ store: any MessageStore, _ request: PruneRequest) async throws -> Int {
        var count = 0
        while true {
            let pruned = try await store.prune(request)
            count += pruned.messages
            if !pruned.hasMore { return count }
        }
    }

    private static func keeping(_ retention: Retention) -> QueuePolicy {
        QueuePolicy.steady { $0.retention = retention }
    }

    static func byAge(_ bench: Bench) async throws {
        let store = try await bench.open(keeping(Retention(age: .seconds(60))))
        try await store.put([.text("done"), .text("cancelled"), .text("dead"), .text("waits")])
        let running = try await store.take(3)
        bench.time.advance(by: .seconds(100))
        _ = try await store.give(.done, for: running[0])
        bench.time.advance(by: .seconds(1))
        _ = try await store.apply(.cancel, to: .sequences([running[1].sequence]))
        _ = try await store.give(.dead(error: "bad"), for: running[2])
        bench.time.advance(by: .seconds(59) - .microseconds(1))
        #expect(try await pruneAll(store, PruneRequest()) == 0, "Age counts from the end of a message.")
        bench.time.advance(by: .microseconds(1))
        #expect(try await pruneAll(store, PruneRequest()) == 1)
        #expect(try await store.texts() == ["cancelled", "dead", "waits"])
        bench.time.advance(by: .seconds(1))
        #expect(try await pruneAll(store, PruneRequest()) == 1)
        #expect(try await store.texts() == ["dead", "waits"])
        await expect(.unknownMessage) { try await store.apply(.redrive, to: .sequences([running[0].sequence])) }
        #expect(try await store.messages(MessageQuery(sequences: [running[0].sequence])).isEmpty)
        #expect(try await store.depths() == .of(ready: 1, dead: 1))
        #expect(try await store.totals() == .of(enqueued: 4, done: 1, dead: 1, cancelled: 1))
    }

    static func byCount(_ bench: Bench) async throws {
        let store = try await bench.open(keeping(Retention(age: nil, count: 3)))
        try await store.put((1...8).map { .text("\($0)") })
        var running = try await store.take(7)
        running.swapAt(0, 6)  // Message 1 ends last; its number is still the lowest.
        for message in running { _ = try await store.give(.done, for: message) }
        #expect(try await pruneAll(store, PruneRequest()) == 4)
        #expect(try await store.texts() == ["5", "6", "7", "8"])
        #expect(try await pruneAll(store, PruneRequest()) == 0)
        #expect(try await store.depths() == .of(ready: 1, kept: 3))
        try await store.configure(.jobs, .set(keeping(Retention(age: nil, count: 0))))
        #expect(try await pruneAll(store, PruneRequest()) == 3)
        #expect(try await store.texts() == ["8"])
        try await store.configure(.jobs, .set(keeping(Retention(age: nil, count: nil))))
        try await store.work(.done)
        bench.time.advance(by: .seconds(10 * 365 * 24 * 3600))
        #expect(try await pruneAll(store, PruneRequest()) == 0, "Without bounds, nothing is ever forgotten.")
    }

    static func byEither(_ bench: Bench) async throws {
        let store = try await bench.open(keeping(Retention(age: .seconds(60), count: 2)))
        try await store.put((1...4).map { .text("\($0)") })
        for _ in 1...4 { try await store.work(.done) }
        #expect(try await pruneAll(store, PruneRequest()) == 2)
        #expect(try await store.texts() == ["3", "4"])
        bench.time.advance(by: .seconds(60))
        try await store.put("5")
        try await store.work(.done)
        #expect(try await pruneAll(store, PruneRequest()) == 2)
        #expect(try await store.texts() == ["5"])
    }

    static func deadLetters(_ bench: Bench) async throws {
        let store = try await bench.open(keeping(Retention(age: .zero, count: 0)))
        let sequence = try await store.put("letter")
        try await store.work(.dead(error: "bad"))
        try await store.put("done")
        try await store.work(.done)
        bench.time.advance(by: .seconds(365 * 24 * 3600))
        #expect(try await pruneAll(store, PruneRequest()) == 1)
        #expect(try await store.texts() == ["letter"])
        #expect(try await store.record(sequence).attempts.count == 1)

        try await store.configure(.jobs, .set(keeping(Retention(deadAge: .seconds(366 * 24 * 3600)))))
        #expect(try await pruneAll(store, PruneRequest()) == 0)
        bench.time.advance(by: .seconds(24 * 3600))
        #expect(try await pruneAll(store, PruneRequest()) == 1)
        #expect(try await store.depths() == .of())
        #expect(try await store.totals() == .of(enqueued: 2, done: 1, dead: 1))
    }

    static func neverTheLiving(_ bench: Bench) async throws {
        let store = try await bench.open(keeping(Retention(age: .zero, count: 0, deadAge: .zero)))
        try await store.put([.text("running", key: "k"), .text("ready"), .text("later", due: .after(.seconds(9_999)))])
        let message = try await store.takeOne(lease: Limits.leaseRange.upperBound)
        bench.time.advance(by: .seconds(3600))
        #expect(try await pruneAll(store, PruneRequest()) == 0)
        #expect(try await store.depths() == .of(scheduled: 1, ready: 1, leased: 1))
        #expect(try await store.put(.text("other", key: "k")).skipped)
        #expect(try await store.give(.done, for: message) == .settled(.done))
        #expect(try await pruneAll(store, PruneRequest()) == 1)
    }

    /// Ended messages in runs of one to four, and between them what waits, runs, is dead or is another queue's.
    static func takesNothingInBetween(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        var ended: [String] = []
        var kept: [String] = []
        for run in 1...4 {
            for number in 1...run {
                ended.append("\(run).\(number)")
                try await store.put(ended[ended.count - 1])
                try await store.work(.done)
            }
            switch run {
            case 1: try await store.put("mail", to: .mail)
            case 2:
                try await store.put("dead")
                try await store.work(.dead(error: "bad"))
            case 3:
                try await store.put("runs")
                _ = try await store.takeOne()
            default: try await store.put("waits")
            }
            kept.append(["mail", "dead", "runs", "waits"][run - 1])
        }
        let request = PruneRequest(queue: .jobs, retention: Retention(age: nil, count: 2))
        #expect(try await pruneAll(store, request) == ended.count - 2)
        #expect(Set(try await store.texts()) == Set(kept + ended.suffix(2)))
        #expect(try await store.depths() == .of(ready: 1, leased: 1, dead: 1, kept: 2))
        #expect(try await store.depths(.mail) == .of(ready: 1))
        #expect(try await pruneAll(store, PruneRequest(retention: Retention(age: .zero, deadAge: .zero))) == 3)
        #expect(Set(try await store.texts()) == ["mail", "runs", "waits"])
    }

    static func goesInSteps(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...25).map { .text("\($0)") })
        for message in try await store.take(24) { _ = try await store.give(.done, for: message) }
        let request = PruneRequest(retention: Retention(age: .zero), limit: 10)
        #expect(try await store.prune(request) == Pruned(messages: 10, hasMore: true))
        #expect(try await store.depths() == .of(ready: 1, kept: 14))
        #expect(try await store.texts().first == "11", "The oldest go first.")
        #expect(try await store.prune(request) == Pruned(messages: 10, hasMore: true))
        let rest = PruneRequest(retention: Retention(age: .zero), limit: 4)
        #expect(try await store.prune(rest) == Pruned(messages: 4, hasMore: false), "That was exactly all.")
        #expect(try await store.prune(request) == Pruned())
        #expect(try await store.texts() == ["25"])
    }

    static func goesInStepsOverQueues(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        for queue in [QueueName.jobs, .mail] {
            try await store.put((1...6).map { .text("\($0)") }, to: queue)
            for message in try await store.take(6, from: queue) { _ = try await store.give(.done, for: message) }
        }
        let request = PruneRequest(retention: Retention(age: .zero), limit: 10)
        #expect(try await store.prune(request) == Pruned(messages: 10, hasMore: true))
        #expect(try await store.prune(request) == Pruned(messages: 2, hasMore: false))
        #expect(try await store.texts().isEmpty)
    }

    static func byQueue(_ bench: Bench) async throws {
        let store = try await bench.open(
            keeping(Retention(age: .seconds(10))), mail: keeping(Retention(age: .seconds(1000))))
        for queue in [QueueName.jobs, .mail] {
            try await store.put([.text("\(queue) 1"), .text("\(queue) 2")], to: queue)
            for _ in 1...2 { try await store.work(.done, from: queue) }
        }
        bench.time.advance(by: .seconds(10))
        #expect(try await pruneAll(store, PruneRequest(queue: .mail)) == 0)
        #expect(try await pruneAll(store, PruneRequest()) == 2)
        #expect(try await store.texts() == ["mail 1", "mail 2"])
        let request = PruneRequest(queue: .mail, retention: Retention(age: nil, count: 1))
        #expect(try await pruneAll(store, request) == 1)
        #expect(try await pruneAll(store, PruneRequest(queue: .jobs, retention: Retention(age: .zero))) == 0)
        #expect(try await pruneAll(store, PruneRequest(retention: Retention(age: .zero))) == 1)
        await expect(.unknownQueue) { try await store.prune(PruneRequest(queue: QueueName(stored: "nowhere"))) }
    }

    static func checksInput(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        await expect(.invalidInput) { try await store.prune(PruneRequest(limit: 0)) }
        await expect(.invalidInput) { try await store.prune(PruneRequest(retention: Retention(age: .seconds(-1)))) }
        await expect(.invalidInput) { try await store.prune(PruneRequest(retention: Retention(count: -1))) }
    }
}
