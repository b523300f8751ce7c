import PenstockCore
import PenstockTestKit
import Testing

/// Limits on how many messages of a queue, or of several, are leased.
enum LimitRules {
    static let cases: ConformanceCase.Rules = [
        "of a queue are never exceeded": own,
        "that are lowered take nothing from workers": lowered,
        "are shared by the queues that name them": shared,
        "that are shared hold within one call": sharedInOneCall,
        "are free again when a worker dies": deaths,
        "ring for what they kept back": rings,
        "ring for those that share one when a queue leaves it": leaving,
        "ring for those that share one when a queue is deleted": deleted,
        "say when to claim again": nextDue,
        "have workers claim nothing that they cannot begin with": nothingAhead,
        "must be there, and be limits": doors,
    ]

    private static func policy(_ limit: Int? = nil, shared: String? = nil) -> QueuePolicy {
        QueuePolicy.steady { ($0.limit, $0.sharedLimit) = (limit, shared.map { LimitName(stored: $0) }) }
    }

    static func own(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(policy(2))
        try await store.put((1...5).map { .text("\($0)") })
        let first = try await store.take(10)
        #expect(first.map(\.text) == ["1", "2"])
        #expect(try await other.take(10).isEmpty)
        #expect(try await store.depths() == .of(ready: 3, leased: 2))
        #expect(try await store.give(.done, for: first[0], thenTake: 5).map(\.text) == ["3"])
        #expect(try await store.give(.release, for: first[1]) == .settled(.ready))
        #expect(try await other.take(10).map(\.text) == ["2"])
        #expect(try await other.take(10).isEmpty)
    }

    static func lowered(_ bench: Bench) async throws {
        let store = try await bench.open(policy(4))
        try await store.put((1...6).map { .text("\($0)") })
        let held = try await store.take(10)
        #expect(held.count == 4)
        try await store.configure(.jobs, .set(policy(2)))
        #expect(try await store.extend(held.map(\.lease), by: .seconds(60)) == [true, true, true, true])
        for message in held.prefix(2) { #expect(try await store.give(.done, for: message) == .settled(.done)) }
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.give(.done, for: held[2]) == .settled(.done))
        #expect(try await store.take(10).count == 1)
        let token = store.changes.token(for: .jobs)
        try await store.configure(.jobs, .set(policy()))
        try await store.changes.wait(for: .jobs, after: token)
        #expect(try await store.take(10).count == 1)
    }

    static func shared(_ bench: Bench) async throws {
        let store = try await bench.open()
        let name = LimitName(stored: "db")
        try await store.setLimit(name, to: 3)
        for queue in [QueueName.jobs, .mail] {
            try await store.configure(queue, .create(policy(2, shared: "db"), ifAbsent: false))
            try await store.put((1...4).map { .text("\($0)") }, to: queue)
        }
        let jobs = try await store.take(10)
        #expect(jobs.count == 2)
        let mails = try await store.take(10, from: .mail)
        #expect(mails.count == 1)
        #expect(try await store.limits() == [LimitRecord(name: name, count: 3, leased: 3, queues: [.jobs, .mail])])
        #expect(try await store.give(.done, for: mails[0]) == .settled(.done))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.take(10, from: .mail).count == 1)
        #expect(try await store.give(.done, for: jobs[0]) == .settled(.done))
        #expect(try await store.take(1).count == 1)
        try await store.setLimit(name, to: 1)
        #expect(try await store.take(10).isEmpty)
        try await store.setLimit(name, to: 9)
        #expect(try await store.take(10, from: .mail).count == 1)
        #expect(try await store.limits().map(\.leased) == [4])
    }

    /// What a call has claimed and settled counts for what it claims next, also from another queue.
    static func sharedInOneCall(_ bench: Bench) async throws {
        let store = try await bench.open()
        try await store.setLimit(LimitName(stored: "db"), to: 3)
        for queue in [QueueName.jobs, .mail] {
            try await store.configure(queue, .create(policy(shared: "db"), ifAbsent: false))
            try await store.put((1...4).map { .text("\($0)") }, to: queue)
        }
        func claim(_ queue: QueueName, _ limit: Int) -> StoreOperation {
            .claim(ClaimRequest(queue: queue, limit: limit, lease: .seconds(60)))
        }
        func claimed(_ performed: Performed) -> [[ClaimedMessage]] {
            performed.answers.compactMap { if case .claimed(let claim) = $0 { claim.messages } else { nil } }
        }
        let first = claimed(try await store.perform([claim(.jobs, 2), claim(.mail, 9), claim(.jobs, 9)]))
        #expect(first.map(\.count) == [2, 1, 0])
        let settle = StoreOperation.settle(first[0].map { Settlement($0.lease, .done) })
        let second = claimed(try await store.perform([settle, claim(.mail, 1), claim(.jobs, 9)]))
        #expect(second.map(\.count) == [1, 1])
        #expect(try await store.limits().map(\.leased) == [3])
    }

    static func deaths(_ bench: Bench) async throws {
        let store = try await bench.open(policy(1))
        try await store.put((1...2).map { .text("\($0)") })
        let doomed = try await bench.open()
        #expect(try await doomed.take(10).count == 1)
        #expect(try await store.take(10).isEmpty)
        let token = store.changes.token(for: .jobs)
        try await bench.crash(doomed)
        _ = try await store.reclaim()
        try await store.changes.wait(for: .jobs, after: token)
        #expect(try await store.take(10).map(\.text) == ["1"])
    }

    static func rings(_ bench: Bench) async throws {
        let store = try await bench.open()
        let other = try await bench.open()
        try await store.setLimit(LimitName(stored: "db"), to: 1)
        for queue in [QueueName.jobs, .mail] {
            try await store.configure(queue, .create(policy(shared: "db"), ifAbsent: false))
            try await store.put((1...3).map { .text("\($0)") }, to: queue)
        }
        for verdict in [Verdict.done, .retry(error: "no"), .dead(error: "no")] {
            let message = try await store.takeOne()
            for listener in [store, other] {
                #expect(try await listener.take(5, from: .mail).isEmpty)
            }
            let tokens = [store, other].map { $0.changes.token(for: .mail) }
            _ = try await store.give(verdict, for: message)
            for (listener, token) in zip([store, other], tokens) {
                try await listener.changes.wait(for: .mail, after: token)
            }
        }
    }

    /// Two queues that share a limit of one message, which the first one has.
    private static func usedUp(_ bench: Bench) async throws -> any MessageStore {
        let store = try await bench.open()
        try await store.setLimit(LimitName(stored: "db"), to: 1)
        for queue in [QueueName.jobs, .mail] {
            try await store.configure(queue, .create(policy(shared: "db"), ifAbsent: false))
            try await store.put("it", to: queue)
        }
        _ = try await store.takeOne()
        return store
    }

    static func leaving(_ bench: Bench) async throws {
        let store = try await usedUp(bench)
        #expect(try await store.take(5, from: .mail).isEmpty)
        let token = store.changes.token(for: .mail)
        try await store.configure(.jobs, .set(policy()))
        try await store.changes.wait(for: .mail, after: token)
        #expect(try await store.take(5, from: .mail).count == 1)
    }

    static func deleted(_ bench: Bench) async throws {
        let store = try await usedUp(bench)
        let other = try await bench.open()
        #expect(try await other.take(5, from: .mail).isEmpty)
        let token = other.changes.token(for: .mail)
        try await store.configure(.jobs, .delete(force: true))
        try await other.changes.wait(for: .mail, after: token)
        #expect(try await other.take(5, from: .mail).count == 1)
    }

    static func nextDue(_ bench: Bench) async throws {
        let store = try await bench.open(policy(1))
        let message = try await store.putAndTake("1")
        try await store.put(.text("2", due: .after(.seconds(9))))
        let request = ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(60))
        #expect(try await store.claim(request).nextDue == bench.time.now + .seconds(9))
        bench.time.advance(by: .seconds(9))
        // It is due and cannot be claimed: there is no moment to claim again, but the end of the other.
        #expect(try await store.claim(request).nextDue == nil)
        let token = store.changes.token(for: .jobs)
        #expect(try await store.give(.done, for: message) == .settled(.done))
        try await store.changes.wait(for: .jobs, after: token)
        #expect(try await store.takeOne().text == "2")
    }

    /// What waited in a worker for a handler would keep another worker from working.
    static func nothingAhead(_ bench: Bench) async throws {
        let store = try await bench.open()
        try await store.setLimit(LimitName(stored: "db"), to: 9)
        let policies: [(policy: QueuePolicy, isLimited: Bool)] = [
            (policy(), false), (.steady { $0.isFair = true }, false), (policy(9), true), (policy(shared: "db"), true),
            (.steady { $0.groups = .fifo() }, true), (.steady { $0.groups = .limit(9) }, true),
            (.steady { $0.rate = Rate(9, per: .seconds(1)) }, true),
        ]
        for (index, one) in policies.enumerated() {
            let queue = QueueName(stored: "queue \(index)")
            try await store.configure(queue, .create(one.policy, ifAbsent: false))
            let request = ClaimRequest(queue: queue, limit: 1, lease: .seconds(60))
            #expect(try await store.claim(request).isLimited == one.isLimited, "\(one.policy)")
            try await store.put("it", to: queue)
            let claim = try await store.claim(request)
            #expect(claim.messages.count == 1 && claim.isLimited == one.isLimited, "\(one.policy)")
        }
    }

    static func doors(_ bench: Bench) async throws {
        let store = try await bench.open(policy())
        let name = LimitName(stored: "db")
        for limit in [0, -3, Limits.leasedLimitRange.upperBound + 1] {
            await expect(.invalidInput) { try await store.configure(.jobs, .set(policy(limit))) }
            await expect(.invalidInput) { try await store.setLimit(name, to: limit) }
        }
        await expect(.unknownLimit) { try await store.configure(.jobs, .set(policy(shared: "db"))) }
        await expect(.unknownLimit) { try await store.configure(.mail, .create(policy(shared: "db"), ifAbsent: true)) }
        await expect(.unknownLimit) { try await store.setLimit(name, to: nil) }
        try await store.setLimit(name, to: 1)
        try await store.configure(.jobs, .set(policy(shared: "db")))
        await expect(.illegalTransition) { try await store.setLimit(name, to: nil) }
        try await store.configure(.jobs, .set(policy()))
        try await store.setLimit(name, to: nil)
        #expect(try await store.limits().isEmpty)
    }
}
