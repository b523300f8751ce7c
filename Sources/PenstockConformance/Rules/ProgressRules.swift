import PenstockCore
import PenstockTestKit
import Testing

/// What workers say of how far they have come.
enum ProgressRules {
    static let cases: ConformanceCase.Rules = [
        "is on record while the message is leased": onRecord,
        "goes when the message leaves its worker": goes,
        "of a worker that has lost the message is none": fenced,
        "has bounds": bounds,
    ]

    static func onRecord(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put("it")
        let message = try await store.takeOne()
        #expect(try await store.record(sequence).progress == nil)
        bench.time.advance(by: .seconds(1))
        let first = MessageProgress(0.5, "half of it")
        #expect(try await store.extend([LeaseExtension(message.lease, progress: first)]) == [.held])
        #expect(try await store.record(sequence).progress == ProgressRecord(first, reportedAt: bench.time.now))
        bench.time.advance(by: .seconds(1))
        let second = MessageProgress(nil, "page 3")
        #expect(
            try await store.extend([LeaseExtension(message.lease, by: .seconds(30), progress: second)]) == [.held])
        let record = ProgressRecord(second, reportedAt: bench.time.now)
        bench.time.advance(by: .seconds(1))
        #expect(try await store.extend([LeaseExtension(message.lease, by: .seconds(30))]) == [.held])
        #expect(try await store.record(sequence).progress == record, "An extension that says nothing leaves it.")
        let third = MessageProgress(1.0 / 3)
        #expect(try await store.extend([LeaseExtension(message.lease, progress: third)]) == [.held])
        #expect(try await store.record(sequence).progress?.progress.fraction == 0.333333)
        _ = try await store.apply(.requestCancel(), to: [sequence])
        #expect(try await store.extend([LeaseExtension(message.lease, progress: first)]) == [.cancelRequested])
        #expect(try await store.record(sequence).progress?.progress == first)
        #expect(try await store.give(.done, for: message) == .settled(.done))
        #expect(try await store.record(sequence).progress == nil)
    }

    static func goes(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 9))
        let verdicts: [Verdict] = [
            .release, .retry(error: "e", after: .zero), .retry(error: "e", after: .seconds(1)), .done,
            .dead(error: "e"),
        ]
        for verdict in verdicts {
            let sequence = try await store.put("it")
            let message = try await store.takeOne()
            #expect(message.sequence == sequence)
            _ = try await store.extend([LeaseExtension(message.lease, progress: MessageProgress(0.5))])
            #expect(try await store.record(sequence).progress != nil)
            _ = try await store.give(verdict, for: message)
            #expect(try await store.record(sequence).progress == nil, "\(verdict)")
            _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.ready, .scheduled]))
        }
        let sequence = try await store.put("lost")
        let message = try await store.takeOne(lease: .seconds(5))
        _ = try await store.extend([LeaseExtension(message.lease, progress: MessageProgress(0.5))])
        bench.time.advance(by: .seconds(5))
        #expect(try await store.reclaim() == Reclaimed(fromExpiredLeases: 1))
        #expect(try await store.record(sequence).progress == nil)
        _ = try await store.takeOne()
        #expect(try await store.record(sequence).progress == nil, "The next attempt has come nowhere yet.")
    }

    static func fenced(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 9))
        let sequence = try await store.put("it")
        let old = try await store.takeOne(lease: .seconds(5))
        bench.time.advance(by: .seconds(5))
        _ = try await store.reclaim()
        let late = LeaseExtension(old.lease, progress: MessageProgress(0.9))
        #expect(try await store.extend([late]) == [.lost])
        let new = try await store.takeOne()
        #expect(
            try await store.extend([late, LeaseExtension(new.lease, progress: MessageProgress(0.1))]) == [.lost, .held])
        #expect(try await store.record(sequence).progress?.progress.fraction == 0.1)
        #expect(try await store.give(.done, for: new) == .settled(.done))
        #expect(try await store.extend([late]) == [.lost])
        #expect(try await store.record(sequence).progress == nil)
    }

    static func bounds(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let message = try await store.putAndTake("it")
        let long = String(repeating: "x", count: Limits.progressBytesMax + 1)
        for progress in [
            MessageProgress(-0.1), MessageProgress(1.1), MessageProgress(.nan), MessageProgress(nil, long),
        ] {
            await expect(.invalidInput) {
                try await store.extend([LeaseExtension(message.lease, progress: progress)])
            }
        }
        let longest = MessageProgress(1, String(long.dropLast()))
        #expect(try await store.extend([LeaseExtension(message.lease, progress: longest)]) == [.held])
        #expect(try await store.record(message.sequence).progress?.progress == longest)
    }
}
