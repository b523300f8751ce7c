import PenstockCore
import PenstockTestKit
import Testing

/// A year of schedules with eight processes that die, and a clock that is set to and fro.
enum ScheduleLives {
    static let cases: ConformanceCase.Rules = [
        "a year of deaths and clocks set to and fro: each firing once, none lost": year
    ]

    /// 1 January 2030, noon.
    private static let begin = Timestamp(microseconds: 1_893_499_200_000_000)

    static func year(_ bench: Bench) async throws {
        let random = SeededRandom(seed: 12)
        var stores: [any MessageStore] = [try await bench.open(.steady())]
        bench.time.set(wall: begin)
        try await stores[0].configure(.mail, .create(.steady(), ifAbsent: true))
        // One of each day, in a zone whose clocks are set twice in the year; four of each day; and one that is off at times.
        let names = try ["nightly", "quarterly", "paused"].map { try ScheduleName($0) }
        for (name, spec, zone) in [
            (names[0], "30 2 * * *", "Europe/Paris"), (names[1], "0 */6 * * *", "UTC"), (names[2], "5 * * * *", "UTC"),
        ] {
            var schedule = Schedule.of(spec, queue: name == names[1] ? .mail : .jobs, name.text, missed: .all)
            schedule.zone = zone
            schedule.window = .seconds(10 * 86_400)
            try await stores[0].schedule(name, .put(schedule, replacing: false))
        }
        while stores.count < 8 { stores.append(try await bench.open()) }
        var (latest, deathCount) = (begin, 0)
        let end = begin + .seconds(365 * 86_400)
        while latest < end {
            latest = min(end, latest + .seconds(random.next(in: 60...100_000)))
            bench.time.set(wall: latest)
            for _ in 0...random.next(in: 0...2) {
                let index = random.next(in: 0...7)
                try await live(stores[index], names[2], random)
                // The clock goes back by some hours, and on again: nothing fires that has fired.
                bench.time.set(wall: latest - .seconds(random.next(in: 0...10_000)))
                try await live(stores[random.next(in: 0...7)], names[2], random)
                bench.time.set(wall: latest)
                if random.chance(0.3) {
                    deathCount += 1
                    try await bench.crash(stores[index])
                    stores[index] = try await bench.open()
                }
            }
            _ = try await stores[random.next(in: 0...7)].fire()
            try await expectSound(names, stores[0])
        }
        #expect(deathCount >= 200)
        let records = try await stores[0].schedules(nil)
        #expect(records.first { $0.name == names[0] }?.firedCount == 365)
        #expect(records.first { $0.name == names[1] }?.firedCount == 1460)
        #expect(records.allSatisfy { $0.missedCount == 0 && $0.problem == nil })
        let fired = records.filter { $0.schedule.queue == .jobs }.reduce(0) { $0 + $1.firedCount }
        #expect(try await stores[0].totals().enqueued == fired, "A message for each firing, and no other.")
        #expect(try await stores[0].totals(.mail).enqueued == 1460)
    }

    private static func live(_ store: any MessageStore, _ paused: ScheduleName, _ random: SeededRandom) async throws {
        switch random.next(in: 0...4) {
        case 0: _ = try await store.fire()
        case 1: try await store.schedule(paused, random.chance(0.5) ? .pause : .resume)
        default:
            let queue: QueueName = random.chance(0.5) ? .jobs : .mail
            let messages = try await store.take(20, from: queue)
            _ = try await store.settle(messages.map { Settlement($0.lease, .done) })
        }
    }

    /// No two firings of a schedule have one message, and each has one.
    private static func expectSound(_ names: [ScheduleName], _ store: any MessageStore) async throws {
        var sequences: Set<SequenceNumber> = []
        for name in names {
            let firings = try await store.schedules(name).first?.firings ?? []
            #expect(Set(firings.map(\.due)).count == firings.count)
            for firing in firings {
                let isNew = firing.sequence.map { sequences.insert($0).inserted } ?? false
                #expect(isNew, "\(name) \(firing)")
            }
        }
    }
}
