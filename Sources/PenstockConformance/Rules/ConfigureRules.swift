import PenstockCore
import PenstockTestKit
import Testing

/// How queues come, change and go.
enum ConfigureRules {
    static let cases: ConformanceCase.Rules = [
        "creates a queue once": createsOnce,
        "sets another policy": setsPolicy,
        "replaces a policy that is still there": replacesPolicy,
        "refuses policies out of range": refusesPolicies,
        "pauses and resumes, twice as well as once": pausesAndResumes,
        "deletes a queue with everything in it": deletes,
        "deletes no queue at work, unless forced": deletesByForce,
        "knows its queues": knowsQueues,
        "gives nothing new a name that looks like another": refusesUnseenNames,
    ]

    static func createsOnce(_ bench: Bench) async throws {
        let store = try await bench.open()
        let other = try await bench.open()
        let policy = QueuePolicy.steady(5, .fail)
        try await store.configure(.jobs, .create(policy, ifAbsent: false))
        await expect(.queueExists) { try await other.configure(.jobs, .create(.steady(), ifAbsent: false)) }
        try await other.configure(.jobs, .create(.steady(), ifAbsent: true))
        #expect(try await store.queueStatus().policy == policy, "It stays as it is.")
        try await other.configure(.mail, .create(.steady(), ifAbsent: true))
        #expect(try await store.queueStatus(.mail).policy == .steady())
    }

    static func replacesPolicy(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady(5, .fail))
        let before = try await store.queueStatus().policy
        var limited = before
        limited.limit = 3
        try await other.configure(.jobs, .set(limited, replacing: before))
        await expect(.policyChanged) { try await store.configure(.jobs, .set(.steady(), replacing: before)) }
        #expect(try await store.queueStatus().policy == limited)
        try await store.configure(.jobs, .set(.steady(), replacing: limited))
        #expect(try await store.queueStatus().policy == .steady())
    }

    static func setsPolicy(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady(5, .fail))
        try await store.put("it")
        try await store.configure(.jobs, .pause)
        let policy = QueuePolicy(retry: RetryPolicy(attemptsMax: 1), retention: Retention(age: nil, count: 3))
        try await other.configure(.jobs, .set(policy))
        let status = try await store.queueStatus()
        #expect(status.policy == policy)
        #expect(status.isPaused, "Nothing else changes.")
        #expect(status.depths == .of(ready: 1))
        try await store.configure(.jobs, .resume)
        try await store.work(.retry(error: "e"))
        #expect(try await store.depths() == .of(dead: 1), "It holds from now on, for other processes too.")
    }

    static func refusesPolicies(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let refused: [QueuePolicy] = [
            .steady(0, .fail),
            .steady(-1, .dropNewest),
            .steady(Limits.capacityRange.upperBound + 1, .wait),
            .steady(attemptsMax: 0),
            .steady(attemptsMax: 1001),
            QueuePolicy(retry: RetryPolicy(base: .seconds(2), cap: .seconds(1))),
            QueuePolicy(retry: RetryPolicy(factor: 0.5)),
            QueuePolicy(retry: RetryPolicy(factor: .nan)),
            QueuePolicy(retry: RetryPolicy(jitter: 1.5)),
            QueuePolicy(retention: Retention(age: .seconds(-1))),
            QueuePolicy(retention: Retention(count: -1)),
            QueuePolicy(retention: Retention(deadAge: .seconds(-1))),
        ]
        for policy in refused {
            await expect(.invalidInput) { try await store.configure(.mail, .create(policy, ifAbsent: false)) }
            await expect(.invalidInput) { try await store.configure(.jobs, .set(policy)) }
        }
        #expect(try await store.status(of: nil).queues.map(\.name) == [.jobs])
        #expect(try await store.queueStatus().policy == .steady())
    }

    static func pausesAndResumes(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put("it")
        for _ in 1...2 {
            try await store.configure(.jobs, .pause)
            #expect(try await store.take().isEmpty)
        }
        for _ in 1...2 {
            try await store.configure(.jobs, .resume)
            #expect(try await !store.queueStatus().isPaused)
        }
        #expect(try await store.take().count == 1)
    }

    static func deletes(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        let letter = try await store.put(.text("letter", key: "k"), to: .mail).sequence
        let job = try await store.put(.text("job", key: "k")).sequence
        try await store.work(.dead(error: "bad"))
        try await store.configure(.jobs, .delete(force: false))
        await expect(.unknownQueue) { try await store.put("x") }
        await expect(.unknownQueue) { try await store.take() }
        #expect(try await store.messages(MessageQuery()).map(\.sequence) == [letter])

        try await store.configure(.jobs, .create(.steady(), ifAbsent: false))
        #expect(try await store.queueStatus().totals == .of(), "A new queue of that name starts from nothing.")
        #expect(try await store.queueStatus().depths == .of())
        let receipt = try await store.put(.text("new", key: "k"))
        #expect(!receipt.skipped)
        #expect(receipt.sequence > job)
        #expect(try await store.drain() == ["new"])
        #expect(try await store.drain(.mail) == ["letter"])
    }

    static func deletesByForce(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let running = try await store.put("running")
        let message = try await store.takeOne()
        await expect(.illegalTransition) { try await store.configure(.jobs, .delete(force: false)) }
        try await store.put([.text("ready", key: "k"), .text("scheduled", due: .after(.seconds(9)))])
        await expect(.illegalTransition) { try await store.configure(.jobs, .delete(force: false)) }
        #expect(try await store.depths() == .of(scheduled: 1, ready: 1, leased: 1))

        try await store.configure(.jobs, .delete(force: true))
        #expect(try await store.messages(MessageQuery()).isEmpty)
        #expect(try await store.give(.retry(error: "e"), for: message) == .leaseLost)
        try await store.configure(.jobs, .create(.steady(), ifAbsent: false))
        #expect(try await store.give(.done, for: message) == .leaseLost)
        bench.time.advance(by: .seconds(60))
        #expect(try await store.reclaim() == Reclaimed())
        #expect(try await store.take(9).isEmpty)
        #expect(try await store.put(.text("new", key: "k")).sequence > running)
    }

    static func knowsQueues(_ bench: Bench) async throws {
        let store = try await bench.open()
        for change in [QueueChange.set(QueuePolicy()), .pause, .resume, .delete(force: false), .delete(force: true)] {
            await expect(.unknownQueue) { try await store.configure(.jobs, change) }
        }
        #expect(try await store.status(of: nil).queues.isEmpty)
    }

    static func refusesUnseenNames(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let schedule = Schedule(queue: .jobs, spec: "* * * * *", message: .text("report"))
        let tasks = [NewTask(.named("t"), queue: .jobs, message: .text("it"))]
        for unseen in ["\u{3164}", "\u{34F}", "\u{FE0F}", "\u{2800}", "1\u{FE0F}", "\u{E0100}"] {
            let queue = try QueueName("jobs" + unseen)
            await expect(.invalidInput) { try await store.configure(queue, .create(.steady(), ifAbsent: true)) }
            let name = try ScheduleName("nightly" + unseen)
            await expect(.invalidInput) { try await store.schedule(name, .put(schedule, replacing: true)) }
            let workflow = NewWorkflow(.named("w" + unseen), tasks: tasks)
            await expect(.invalidInput) { try await store.start(workflow, durability: .processCrash) }
            await expect(.invalidInput) { try WorkerName("mill" + unseen) }
        }
        #expect(try await store.status(of: nil).queues.map(\.name) == [.jobs])
        #expect(try await store.depths() == .of())
        // A selector is a part of the character that it says the shape of, and joiners are of words.
        for seen in ["❤\u{FE0F} mail", "می\u{200C}خواهم", "☎\u{FE0E}", "team 1\u{FE0F}\u{20E3}", "葛\u{E0100}城"] {
            try await store.configure(QueueName(seen), .create(.steady(), ifAbsent: false))
        }
    }
}
