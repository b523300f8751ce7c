import PenstockCore
import PenstockTestKit
import Testing

/// Since when messages are ready, and leased.
enum AgeRules {
    static let cases: ConformanceCase.Rules = [
        "says since when the oldest message is ready": sinceAccepted,
        "counts a message that was delayed from its due time on": sinceDue,
        "counts a message that came back from its return on": sinceReturn,
        "counts a blocked message from its permit on": sincePermit,
        "finds the oldest of every priority and turn": everywhere,
        "says when the oldest lease was claimed": oldestLease,
    ]

    private static func oldest(_ store: any MessageStore, _ queue: QueueName = .jobs) async throws -> Timestamp? {
        try await store.queueStatus(queue).oldestReady
    }

    static func sinceAccepted(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let start = bench.time.now
        #expect(try await oldest(store) == nil)
        for _ in 1...3 {
            try await store.put([.text("a"), .text("b")])
            bench.time.advance(by: .seconds(1))
        }
        #expect(try await oldest(store) == start)
        _ = try await store.take(3)
        #expect(try await oldest(store) == start + .seconds(1))
        _ = try await store.take(3)
        #expect(try await oldest(store) == nil)
    }

    static func sinceDue(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let start = bench.time.now
        try await store.put([.text("a", due: .after(.seconds(10))), .text("b", due: .after(.seconds(10)))])
        #expect(try await oldest(store) == nil, "It is not ready, however long it is in line.")
        bench.time.advance(by: .seconds(12))
        #expect(try await oldest(store) == start + .seconds(10), "Though nobody has claimed since.")
        _ = try await store.take(1)
        #expect(try await oldest(store) == start + .seconds(10))
        _ = try await store.take(1)
        #expect(try await oldest(store) == nil)
    }

    static func sinceReturn(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let start = bench.time.now
        try await store.put("a")
        bench.time.advance(by: .seconds(100))
        try await store.work(.retry(error: "e", after: .seconds(5)))
        #expect(try await oldest(store) == nil)
        bench.time.advance(by: .seconds(20))
        #expect(try await oldest(store) == start + .seconds(105), "Since it was to be tried again.")
        try await store.work(.release)
        #expect(try await oldest(store) == start + .seconds(120))
        bench.time.advance(by: .seconds(1))
        let dead = try await store.work(.dead(error: "e"))
        bench.time.advance(by: .seconds(1))
        _ = try await store.apply(.redrive, to: [dead])
        #expect(try await oldest(store) == start + .seconds(122))
        _ = try await store.take(1, lease: .seconds(10))
        bench.time.advance(by: .seconds(30))
        _ = try await store.reclaim()
        #expect(try await oldest(store) == start + .seconds(152), "Since its lease was found to have ended.")
        try await store.put("b")
        #expect(try await oldest(store) == start + .seconds(152))
    }

    static func sincePermit(_ bench: Bench) async throws {
        let store = try await bench.open(.steady { $0.groups = .limit(1) })
        let start = bench.time.now
        try await store.put([.text("a", group: "g"), .text("b", group: "g")])
        bench.time.advance(by: .seconds(5))
        let first = try await store.takeOne()
        #expect(try await oldest(store) == nil)
        bench.time.advance(by: .seconds(5))
        #expect(try await store.give(.done, for: first) == .settled(.done))
        #expect(try await oldest(store) == start + .seconds(10))
    }

    static func everywhere(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let start = bench.time.now
        for priority in [5, 0, -3] {
            try await store.put(.text("a", priority: priority))
            bench.time.advance(by: .seconds(1))
        }
        #expect(try await oldest(store) == start)
        _ = try await store.take(1)
        #expect(try await oldest(store) == start + .seconds(1))
        try await store.configure(.mail, .create(.steady { $0.isFair = true }, ifAbsent: false))
        for group in ["x", "x", "y"] {
            try await store.put(.text("a", group: group), to: .mail)
            bench.time.advance(by: .seconds(1))
        }
        #expect(try await oldest(store, .mail) == start + .seconds(3))
        #expect(try await store.take(2, from: .mail).map(\.group) == ["x", "y"])
        #expect(try await oldest(store, .mail) == start + .seconds(4), "By its turn it is the last one.")
    }

    static func oldestLease(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let start = bench.time.now
        try await store.put((1...3).map { .text("\($0)") })
        func claimed() async throws -> Timestamp? { try await store.queueStatus().oldestLease }
        #expect(try await claimed() == nil)
        let first = try await store.takeOne(lease: .seconds(60))
        bench.time.advance(by: .seconds(3))
        let second = try await store.takeOne(lease: .seconds(60))
        _ = try await store.extend([first.lease], by: .seconds(90))
        #expect(try await claimed() == start, "More time for it does not make it younger.")
        #expect(try await store.give(.done, for: first) == .settled(.done))
        #expect(try await claimed() == start + .seconds(3))
        #expect(try await store.give(.done, for: second) == .settled(.done))
        #expect(try await claimed() == nil)
    }
}
