import PenstockCore
import PenstockTestKit
import Testing

/// Groups that wait for their time: what becomes of them when that changes, and which message goes first when it comes.
enum GroupWaitRules {
    static let cases: ConformanceCase.Rules = [
        "wait no longer than their rate says, with nothing in line as it changes": changed,
        "are told of, and are not let go by a resume": resumed,
        "in order go on with what has begun when their time comes": begun,
        "go on with what is open while more of them are to open": many,
    ]

    /// Of a group that has started something lately nothing may be in line as its rate is taken away, or is made faster.
    static func changed(_ bench: Bench) async throws {
        let store = try await bench.open()
        let month = Rate(1, per: .seconds(30 * 86_400))
        for (number, rate) in [nil, Rate(1, per: .seconds(10))].enumerated() {
            let queue = QueueName(stored: "queue \(number)")
            try await store.configure(
                queue, .create(RateRules.policy(perKey: month, .limit(2)), ifAbsent: false))
            let receipts = try await store.put((1...2).map { .text("\($0)", group: "a") }, to: queue)
            try await store.work(.done, from: queue)
            #expect(try await store.state(of: receipts[1].sequence) == .blocked)
            #expect(try await store.apply(.cancel, to: [receipts[1].sequence]) == 1)
            try await store.configure(queue, .set(RateRules.policy(perKey: rate, .limit(2))))
            let next = try await store.put(.text("3", group: "a"), to: queue)
            #expect(next.state == (rate == nil ? .ready : .blocked))
            if rate != nil { bench.time.advance(by: RateRules.apart) }
            #expect(try await store.take(9, from: queue).map(\.text) == ["3"])
        }
    }

    static func resumed(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(perKey: Rate(1, per: .seconds(10)), .limit(2)))
        try await store.put((1...2).map { .text("\($0)", group: "a") })
        try await store.work(.done)
        let opens = WaitReason.Cause.groupRate(opens: bench.time.now + .seconds(10))
        #expect(try await store.waitReason(of: SequenceNumber(2)).causes.contains(opens))
        try await store.configure(.jobs, .resumeGroup("a"))
        #expect(try await store.take(9).isEmpty)
        #expect(try await store.waitReason(of: SequenceNumber(2)).causes.contains(opens))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.take(9).map(\.text) == ["2"])
    }

    /// A message whose attempt counts, or whose handler has taken a step, is not overtaken by an earlier one that becomes due while
    /// its group waits.
    static func begun(_ bench: Bench) async throws {
        let store = try await bench.open(RateRules.policy(perKey: Rate(1, per: .seconds(10)), .fifo()))
        for isStep in [false, true] {
            try await store.put(.text("early", due: .after(.seconds(5)), group: "a"))
            let begun = try await store.put(.text("begun", group: "a")).sequence
            let message = try await store.putAndTake(.text("last", group: "a"))
            #expect(message.sequence == begun)
            var verdict = Verdict.retry(error: "", after: .seconds(2))
            if isStep {
                _ = try await store.record(.named("s"), result: [], on: message.lease, extendingBy: nil)
                verdict = .suspend(until: bench.time.now + .seconds(2))
            }
            #expect(try await store.give(verdict, for: message) == .settled(.scheduled))
            for seconds in [3, 3] {
                bench.time.advance(by: .seconds(seconds))
                #expect(try await store.take().isEmpty)
            }
            #expect(try await store.depths().blocked == 3)
            let before = try await (begun.rawValue - 1...begun.rawValue + 1).asyncMap { number in
                let causes = try await store.waitReason(of: SequenceNumber(number)).causes
                return causes.compactMap { if case .before(let count) = $0 { count.count } else { nil } }.first ?? 0
            }
            #expect(before == [1, 0, 2])
            var texts: [String] = []
            while texts.count < 3 {
                bench.time.advance(by: RateRules.apart)
                let next = try await store.takeOne()
                texts.append(next.text)
                #expect(try await store.give(.done, for: next) == .settled(.done))
            }
            #expect(texts == ["begun", "early", "last"])
            bench.time.advance(by: RateRules.apart)
        }
    }

    /// One claim sees to a bounded number of groups, and hands out what is ready all the same.
    static func many(_ bench: Bench) async throws {
        let count = Limits.regroupCountMax + 200
        let store = try await bench.open(RateRules.policy(perKey: Rate(1, per: .seconds(10)), .limit(1)))
        for _ in 1...2 { try await store.put((1...count).map { .text("x", group: "group \($0)") }) }
        let first = try await store.take(Limits.batchCountMax)
        #expect(first.count == count)
        #expect(try await store.settle(first.map { Settlement($0.lease, .done) }).count == count)
        bench.time.advance(by: .seconds(10))
        var claimed = 0
        while claimed < count {
            let claim = try await RateRules.claim(store, 500)
            claimed += claim.messages.count
            if claim.messages.isEmpty {
                Issue.record(
                    "A claim gave nothing after \(claimed) of \(count), and the next one is due \(claim.nextDue as Any)."
                )
                return
            }
        }
        #expect(try await RateRules.claim(store).messages.isEmpty)
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async throws -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
