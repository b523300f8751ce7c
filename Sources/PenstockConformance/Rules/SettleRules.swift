import PenstockCore
import PenstockTestKit
import Testing

/// What a worker's verdict does.
enum SettleRules {
    static let cases: ConformanceCase.Rules = [
        "done finishes a message": done,
        "retry puts a message off as the policy says": retryByPolicy,
        "retry puts a message off as the worker says": retryByWorker,
        "chance only makes a retry earlier, and by no more than the jitter": retryJitter,
        "dead makes a dead letter, with the reason": dead,
        "attempts used up make a dead letter, with every attempt": attemptsUsedUp,
        "attempts allowed are the message's, else the policy's of the day": attemptsAllowed,
        "release gives back at once and counts no attempt": release,
        "keeps the end of a long error": keepsEndOfError,
        "keeps the last attempts of many": keepsLastAttempts,
        "refuses verdicts that cannot be": refusesImpossible,
    ]

    static func done(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("it")
        let message = try await store.takeOne()
        bench.time.advance(by: .seconds(7))
        #expect(try await store.give(.done, for: message) == .settled(.done))
        let record = try await store.record(sequence)
        #expect(record.state == .done)
        #expect(record.reason == nil)
        #expect(record.attempt == 1)
        #expect(record.finishedAt == bench.time.now)
        #expect(record.claimedAt == nil)
        #expect(record.worker == nil)
        #expect(record.attempts.isEmpty, "Only what went wrong is kept.")
        #expect(try await store.depths() == .of(kept: 1))
        #expect(try await store.totals() == .of(enqueued: 1, done: 1))
        #expect(try await store.drain().isEmpty)
    }

    static func retryByPolicy(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 6))
        let sequence = try await store.put("it")
        for seconds in [1, 2, 4, 8, 8] {
            let message = try await store.takeOne()
            bench.time.advance(by: .milliseconds(10))
            #expect(try await store.give(.retry(error: "again"), for: message) == .settled(.scheduled))
            let record = try await store.record(sequence)
            #expect(record.state == .scheduled)
            #expect(record.reason == nil)
            #expect(record.due == bench.time.now + .seconds(seconds))
            #expect(record.finishedAt == nil)
            #expect(record.claimedAt == nil)
            bench.time.advance(by: .seconds(seconds) - .microseconds(1))
            #expect(try await store.take().isEmpty)
            bench.time.advance(by: .microseconds(1))
        }
        #expect(try await store.totals() == .of(enqueued: 1, retried: 5))
    }

    static func retryByWorker(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 9))
        let sequence = try await store.put("it")
        #expect(try await store.give(.retry(error: "e", after: .zero), for: store.takeOne()) == .settled(.ready))
        #expect(try await store.record(sequence).due == nil)
        let exact = Duration.microseconds(1_234_567)
        #expect(try await store.give(.retry(error: "e", after: exact), for: store.takeOne()) == .settled(.scheduled))
        #expect(try await store.record(sequence).due == bench.time.now + exact)
        bench.time.advance(by: exact)
        try await store.work(.retry(error: "slow", outcome: .timedOut, after: .zero))
        #expect(try await store.record(sequence).attempts.map(\.outcome) == [.failed, .failed, .timedOut])
    }

    static func retryJitter(_ bench: Bench) async throws {
        var policy = QueuePolicy.steady()
        policy.retry.base = .seconds(1000)
        policy.retry.cap = .seconds(1000)
        policy.retry.jitter = 0.25
        let store = try await bench.open(policy)
        try await store.put((1...40).map { .text("\($0)") })
        let messages = try await store.take(40)
        _ = try await store.settle(messages.map { Settlement($0.lease, .retry(error: "again")) })
        let dues = try await store.messages(MessageQuery(states: [.scheduled])).compactMap(\.due)
        #expect(dues.count == 40)
        let now = bench.time.now
        #expect(dues.allSatisfy { (now + .seconds(750)...now + .seconds(1000)).contains($0) })
        #expect(Set(dues).count > 20, "They do not come back together.")
    }

    static func dead(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let rejected = try await store.put("1")
        let undecodable = try await store.put("2")
        let started = bench.time.now
        let messages = try await store.take(2)
        bench.time.advance(by: .seconds(3))
        let results = try await store.settle([
            Settlement(messages[0].lease, .dead(error: "no such customer")),
            Settlement(messages[1].lease, .dead(error: "not JSON", reason: .undecodable)),
        ])
        #expect(results == [.settled(.dead), .settled(.dead)])

        let reasons: [(SequenceNumber, StateReason, AttemptOutcome, String)] = [
            (rejected, .rejected, .rejected, "no such customer"),
            (undecodable, .undecodable, .undecodable, "not JSON"),
        ]
        for (sequence, reason, outcome, error) in reasons {
            let record = try await store.record(sequence)
            #expect(record.state == .dead)
            #expect(record.reason == reason)
            #expect(record.finishedAt == bench.time.now)
            let attempt = try #require(record.attempts.first)
            #expect(record.attempts.count == 1)
            #expect(
                attempt
                    == AttemptRecord(
                        attempt: 1, outcome: outcome, error: error, worker: attempt.worker, startedAt: started,
                        endedAt: bench.time.now))
            #expect(!attempt.worker.isEmpty)
        }
        #expect(try await store.depths() == .of(dead: 2))
        #expect(try await store.totals() == .of(enqueued: 2, dead: 2))
        #expect(try await store.drain().isEmpty)
    }

    static func attemptsUsedUp(_ bench: Bench) async throws {
        let stores = [try await bench.open(.steady(attemptsMax: 3)), try await bench.open()]
        let sequence = try await stores[0].put("it")
        var expected: [(Timestamp, Timestamp)] = []
        for attempt in 1...3 {
            let store = stores[attempt % 2]
            let message = try await store.takeOne()
            let started = bench.time.now
            bench.time.advance(by: .milliseconds(attempt))
            expected.append((started, bench.time.now))
            let result = try await store.give(.retry(error: "error \(attempt)"), for: message)
            #expect(result == .settled(attempt < 3 ? .scheduled : .dead))
            if attempt < 3 { bench.time.advance(by: .seconds(60)) }
        }
        let record = try await stores[0].record(sequence)
        #expect(record.state == .dead)
        #expect(record.reason == .attemptsExhausted)
        #expect(record.attempt == 3)
        #expect(record.finishedAt == bench.time.now)
        #expect(record.due == nil)
        #expect(record.attempts.map(\.attempt) == [1, 2, 3])
        #expect(record.attempts.map(\.error) == ["error 1", "error 2", "error 3"])
        #expect(record.attempts.map(\.outcome) == [.failed, .failed, .failed])
        #expect(record.attempts.map(\.startedAt) == expected.map(\.0))
        #expect(record.attempts.map(\.endedAt) == expected.map(\.1))
        #expect(record.attempts.allSatisfy { !$0.worker.isEmpty })
        #expect(try await stores[0].totals() == .of(enqueued: 1, dead: 1, retried: 2))
        #expect(try await stores[0].drain().isEmpty)
    }

    static func attemptsAllowed(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 2))
        let own = try await store.put(.text("own", attemptsMax: 1)).sequence
        #expect(try await store.work(.retry(error: "e")) == own)
        #expect(try await store.state(of: own) == .dead)

        let queues = try await store.put("queue's")
        try await store.work(.retry(error: "e", after: .zero))
        #expect(try await store.record(queues).attemptsMax == 2)
        try await store.configure(.jobs, .set(.steady(attemptsMax: 3)))
        #expect(try await store.record(queues).attemptsMax == 3)
        try await store.work(.retry(error: "e", after: .zero))
        #expect(try await store.state(of: queues) == .ready, "The policy of the day decides.")
        try await store.work(.retry(error: "e", after: .zero))
        #expect(try await store.state(of: queues) == .dead)
        #expect(try await store.record(own).attemptsMax == 1)
    }

    static func release(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 1))
        let sequence = try await store.put("1")
        try await store.put("2")
        for _ in 1...5 {
            let message = try await store.takeOne()
            #expect(message.text == "1", "It is back in its old place.")
            #expect(message.attempt == 1)
            bench.time.advance(by: .seconds(1))
            #expect(try await store.give(.release, for: message) == .settled(.ready))
        }
        let record = try await store.record(sequence)
        #expect(record.state == .ready)
        #expect(record.attempt == 0)
        #expect(record.attempts.isEmpty)
        #expect(try await store.totals() == .of(enqueued: 2))
    }

    static func keepsEndOfError(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("it")
        let error = String(repeating: "💥 noise ", count: 2000) + "the cause"
        try await store.work(.dead(error: error))
        let kept = try #require(try await store.record(sequence).attempts.first?.error)
        #expect(kept.utf8.count <= Limits.errorTextBytesMax)
        #expect(kept.utf8.count > Limits.errorTextBytesMax - 8)
        #expect(kept.hasSuffix("noise the cause"))
    }

    static func keepsLastAttempts(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 1000))
        let sequence = try await store.put("it")
        let count = Limits.attemptsKeptMax + 5
        for attempt in 1...count { try await store.work(.retry(error: "\(attempt)", after: .zero)) }
        let record = try await store.record(sequence)
        #expect(record.attempt == count)
        #expect(record.attempts.map(\.attempt) == Array(6...count))
        #expect(record.attempts.last?.error == "\(count)")
    }

    static func refusesImpossible(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((1...2).map { .text("\($0)") })
        let messages = try await store.take(2)
        let impossible: [Verdict] = [
            .retry(error: "e", after: .seconds(-1)),
            .retry(error: "e", after: Limits.delayMax + .seconds(1)),
            .dead(error: "e", reason: .attemptsExhausted),
            .dead(error: "e", reason: .replaced),
        ]
        for verdict in impossible {
            await expect(.invalidInput) {
                try await store.settle([
                    Settlement(messages[0].lease, .done), Settlement(messages[1].lease, verdict),
                ])
            }
        }
        #expect(try await store.depths() == .of(leased: 2), "Nothing of such a call is carried out.")
    }
}
