import PenstockCore
import PenstockTestKit
import Testing

/// Batches for a full queue: a store may put many messages in line at once, and nobody may notice.
enum OverflowBatchRules {
    static let cases = (1...12).map { seed in
        ConformanceCase("overflow", "a full queue takes a batch as its messages one by one, seed \(seed)") { bench in
            try await goesOneByOne(bench, SeededRandom(seed: seed))
        }
    }

    /// Two queues that the same comes into: one is given batches, and the other each message by itself.
    static func goesOneByOne(_ bench: Bench, _ random: SeededRandom) async throws {
        let store = try await bench.open()
        for policy in [OverflowPolicy.dropNewest, .dropOldest, .wait] {
            let capacity = random.next(in: 1...25)
            for queue in [QueueName.jobs, .mail] {
                try await store.configure(queue, .create(.steady(capacity, policy), ifAbsent: false))
            }
            var (together, alone): ([Receipt], [Receipt]) = ([], [])
            for round in 0..<8 {
                // Most batches are plain, as those of a pipeline are: only those may a store take at once.
                let isPlain = random.chance(0.7)
                let batch = (0..<random.next(in: 2...30)).map { number in
                    message("\(round) \(number)", isPlain: isPlain, random)
                }
                together += try await store.put(batch, to: .jobs)
                for message in batch {
                    let receipts = try await store.put([message], to: .mail)
                    alone += receipts
                    if receipts.isEmpty { break }
                }
                #expect(fates(together) == fates(alone), "\(policy), \(capacity)")
                #expect(try await store.depths(.jobs) == store.depths(.mail), "\(policy), \(capacity)")
                #expect(try await store.totals(.jobs) == store.totals(.mail), "\(policy), \(capacity)")
                let taken = random.next(in: 1...capacity)
                bench.time.advance(by: .seconds(random.next(in: 0...20)))
                let jobs = try await store.take(taken, from: .jobs)
                #expect(jobs.map(\.text) == (try await store.take(taken, from: .mail)).map(\.text))
            }
            for (one, other) in zip(together, alone) {
                let (first, second) = try await (store.record(one.sequence), store.record(other.sequence))
                #expect(first.text == second.text)
                #expect(first.state == second.state, "\(policy), \(capacity), \(first.text ?? "")")
                #expect(first.reason == second.reason)
                #expect(first.finishedAt == second.finishedAt)
            }
            for queue in [QueueName.jobs, .mail] { try await store.configure(queue, .delete(force: true)) }
        }
    }

    private static func message(_ text: String, isPlain: Bool, _ random: SeededRandom) -> NewMessage {
        if isPlain || random.chance(0.5) { return .text(text) }
        return switch random.next(in: 0...3) {
        case 0: .text(text, priority: random.next(in: -1...1))
        case 1: .text(text, due: .after(.seconds(random.next(in: 1...30))))
        case 2: .text(text, key: text)
        default: .text(text, expiry: .after(.seconds(random.next(in: 1...30))))
        }
    }

    /// What became of messages, each named by its place among them.
    private static func fates(_ receipts: [Receipt]) -> [String] {
        let places = Dictionary(
            receipts.enumerated().map { ($0.element.sequence, $0.offset) }, uniquingKeysWith: { first, _ in first })
        return receipts.map { receipt in
            let displaced = receipt.displaced.map { places[$0].map(String.init) ?? "another's" } ?? "none"
            return "\(receipt.state?.rawValue ?? "") for \(displaced)"
        }
    }
}
