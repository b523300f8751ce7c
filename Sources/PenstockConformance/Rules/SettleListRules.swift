import PenstockCore
import PenstockTestKit
import Testing

/// Verdicts in lists: a store may move many messages at once, and nobody may notice.
enum SettleListRules {
    static let cases =
        ConformanceCase.rules(
            of: "settle",
            [
                "a list of done finishes what it names and nothing else": finishesWhatItNames,
                "a list names each message once or is told": namesEachOnce,
            ])
        + (1...10).map { seed in
            ConformanceCase("settle", "a list goes as its verdicts one by one, seed \(seed)") { bench in
                try await goesOneByOne(bench, SeededRandom(seed: seed))
            }
        }

    static func finishesWhatItNames(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((0..<20).map { .text("\($0)") })
        let claimed = try await store.take(20)
        bench.time.advance(by: .seconds(7))
        let named = claimed[3..<17].enumerated().filter { $0.offset != 5 && $0.offset != 6 }.map(\.element)
        let results = try await store.settle(named.map { Settlement($0.lease, .done) })
        #expect(results == Array(repeating: .settled(.done), count: 12))
        for message in claimed {
            let record = try await store.record(message.sequence)
            let isNamed = named.contains { $0.lease == message.lease }
            #expect(record.state == (isNamed ? .done : .leased))
            #expect(record.attempt == 1)
            #expect(record.finishedAt == (isNamed ? bench.time.now : nil))
        }
        #expect(try await store.depths() == .of(leased: 8, kept: 12))
        #expect(try await store.totals() == .of(enqueued: 20, done: 12))
    }

    static func namesEachOnce(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put((0..<4).map { .text("\($0)") })
        let leases = try await store.take(4).map(\.lease)
        let results = try await store.settle([0, 1, 1, 2, 0, 3].map { Settlement(leases[$0], .done) })
        #expect(
            results == [
                .settled(.done), .settled(.done), .leaseLost, .settled(.done), .leaseLost, .settled(.done),
            ])
        #expect(try await store.totals().done == 4)
    }

    /// A claimed message, and what is to come of it.
    private struct Fate {
        var message: ClaimedMessage
        var queue: QueueName
        var key: String?
        var verdict: Verdict
        var isCancelled: Bool

        var result: SettleResult {
            if isCancelled { return .leaseLost }
            switch verdict {
            case .done: return .settled(.done)
            case .dead: return .settled(.dead)
            case .release: return .settled(.ready)
            case .retry, .suspend: return .settled(.scheduled)
            }
        }

        var state: MessageState {
            guard !isCancelled, case .settled(let state) = result else { return .cancelled }
            return state
        }
    }

    static func goesOneByOne(_ bench: Bench, _ random: SeededRandom) async throws {
        let store = try await bench.open(.steady(), mail: .steady())
        var keys: [String: String] = [:]
        for number in 0..<60 {
            let key = random.nextUnit() < 0.15 ? "k\(number)" : nil
            keys["\(number)"] = key
            try await store.put(
                .text("\(number)", priority: random.nextUnit() < 0.1 ? 1 : 0, key: key),
                to: random.nextUnit() < 0.3 ? .mail : .jobs)
        }
        var fates: [Fate] = []
        while fates.count < 60 {
            let queue: QueueName = random.nextUnit() < 0.5 ? .mail : .jobs
            for message in try await store.take(1 + Int(random.next() % 15), from: queue) {
                fates.append(
                    Fate(
                        message: message, queue: queue, key: keys[message.text],
                        verdict: verdict(random.nextUnit(), bench.time.now),
                        isCancelled: random.nextUnit() < 0.1))
            }
        }
        _ = try await store.apply(.cancel, to: .sequences(fates.filter(\.isCancelled).map(\.message.sequence)))
        if random.nextUnit() < 0.7 { fates.sort { $0.message.sequence < $1.message.sequence } }
        for list in [fates.prefix(41), fates.dropFirst(41)] {
            let results = try await store.settle(list.map { Settlement($0.message.lease, $0.verdict) })
            #expect(results == list.map(\.result))
        }
        for fate in fates {
            #expect(try await store.state(of: fate.message.sequence) == fate.state)
            guard let key = fate.key else { continue }
            let again = try await store.put(.text("again", due: .after(.seconds(99)), key: key), to: fate.queue)
            #expect(again.skipped == fate.state.isWaiting)
        }
        for queue in [QueueName.jobs, .mail] {
            let total = try await store.totals(queue)
            let of = fates.filter { $0.queue == queue }
            #expect(total.done == of.count { $0.state == .done })
            #expect(total.dead == of.count { $0.state == .dead })
            #expect(try await store.depths(queue).leased == 0)
        }
    }

    private static func verdict(_ chance: Double, _ now: Timestamp) -> Verdict {
        switch chance {
        case ..<0.85: .done
        case ..<0.9: .dead(error: "e")
        case ..<0.93: .retry(error: "e")
        case ..<0.96: .suspend(until: now + .seconds(9))
        default: .release
        }
    }
}
