import PenstockCore
import PenstockTestKit
import Testing

/// What schedules fire, and when: once, and what was missed as they say.
enum FiringRules {
    static let cases: ConformanceCase.Rules = [
        "a claim fires what is due in its queue": claimFires,
        "what is due fires in queues that nobody works": firesForOthers,
        "each firing happens once over all processes": once,
        "a clock that is set back fires nothing again": clockSetBack,
        "a clock that was far ahead for a moment keeps nothing from firing": clockFarAhead,
        "what a clock far ahead has made fires when it is said again": madeFarAhead,
        "what a clock far ahead has seen to has no problem when it has ended and is said again": endedFarAhead,
        "a clock that was far behind for a moment fires nothing again": clockFarBehind,
        "of many that were missed one is made good": oneIsMadeGood,
        "what was missed can be left out": missedIsSkipped,
        "all that was missed can be made good, within a window": allAreMadeGood,
        "nothing fires while the last message lives, with a unique key": overlapIsSkipped,
        "a full queue has the firing on record": fullQueue,
        "the last hundred firings are kept": firingsKept,
    ]

    static func claimFires(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        let start = bench.time.now
        let made = try await store.schedule(.nightly, .put(.of("*/10 * * * *"), replacing: false))
        #expect(made?.nextDue == start + .seconds(600))
        let early = try await store.claim(ClaimRequest(queue: .jobs, limit: 10, lease: .seconds(30)))
        #expect(early.messages.isEmpty && early.nextDue == start + .seconds(600))
        bench.time.advance(by: .seconds(600))
        let claim = try await store.claim(ClaimRequest(queue: .jobs, limit: 10, lease: .seconds(30)))
        #expect(claim.messages.map(\.text) == ["report"])
        #expect(claim.nextDue == start + .seconds(1200))
        #expect(try await store.take(10).isEmpty)
        let record = try await store.schedules(.nightly).first
        #expect(record?.firedCount == 1)
        #expect(
            record?.firings == [
                FiringRecord(
                    due: start + .seconds(600), firedAt: start + .seconds(600), outcome: .enqueued,
                    sequence: claim.messages.first?.sequence)
            ])
    }

    static func firesForOthers(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        try await store.configure(.mail, .create(.steady(), ifAbsent: true))
        try await store.schedule(.nightly, .put(.of("*/10 * * * *"), replacing: false))
        try await store.schedule(
            ScheduleName("other"), .put(.of("*/15 * * * *", queue: .mail, "post"), replacing: false))
        let start = bench.time.now
        #expect(try await store.fire() == start + .seconds(600))
        bench.time.advance(by: .seconds(900))
        #expect(try await store.fire() == start + .seconds(1200))
        #expect(try await store.depths().ready == 1)
        #expect(try await store.depths(.mail).ready == 1)
        #expect(try await store.fire() == start + .seconds(1200))
        // A queue that gives nothing takes messages all the same.
        try await store.configure(.mail, .pause)
        bench.time.advance(by: .seconds(900))
        _ = try await store.fire()
        #expect(try await store.depths(.mail).ready == 2)
    }

    static func once(_ bench: Bench) async throws {
        let first = try await ScheduleRules.open(bench)
        let second = try await bench.open()
        try await first.schedule(.nightly, .put(.of("* * * * *"), replacing: false))
        for _ in 0..<5 {
            bench.time.advance(by: .seconds(60))
            for store in [first, second, first] {
                _ = try await store.fire()
                _ = try await store.take(1)
            }
        }
        #expect(try await first.totals().enqueued == 5)
        try await bench.crash(second)
        bench.time.advance(by: .seconds(60))
        _ = try await first.fire()
        #expect(try await first.totals().enqueued == 6)
        #expect(try await first.schedules(.nightly).first?.firings.count == 6)
    }

    static func clockSetBack(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        try await store.schedule(.nightly, .put(.of("0 * * * *"), replacing: false))
        let start = bench.time.now
        bench.time.advance(by: .seconds(3600))
        #expect(try await store.take(10).count == 1)
        for now in [start, start + .seconds(1800), start + .seconds(3600), start + .seconds(7199)] {
            bench.time.set(wall: now)
            #expect(try await store.take(10).isEmpty)
            #expect(try await store.schedules(.nightly).first?.nextDue == start + .seconds(7200))
        }
        // Neither does it by being paused and resumed meanwhile.
        bench.time.set(wall: start)
        try await store.schedule(.nightly, .pause)
        #expect(try await store.schedule(.nightly, .resume)?.nextDue == start + .seconds(7200))
        bench.time.set(wall: start + .seconds(7200))
        #expect(try await store.take(10).count == 1)
        #expect(try await store.totals().enqueued == 2)
    }

    static let tenYears = Duration.seconds(10 * 365 * 86_400)

    static func clockFarAhead(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        let start = bench.time.now
        let names = MissedFirings.allCases.map { ScheduleName(stored: $0.rawValue) } + [ScheduleName.nightly]
        for (name, missed) in zip(names, MissedFirings.allCases + [.one]) {
            let spec = name == .nightly ? "@every 60s" : "* * * * *"
            var schedule = Schedule.of(spec, missed: missed)
            schedule.window = .seconds(3 * 3600)
            try await store.schedule(name, .put(schedule, replacing: false))
        }
        bench.time.set(wall: start + tenYears)
        _ = try await store.fire()
        let ahead = try await store.schedules(nil).map(\.firedCount)
        bench.time.set(wall: start)
        #expect(try await store.fire() == start + .seconds(60))
        for name in names {
            let record = try #require(try await store.schedules(name).first)
            #expect(record.nextDue == start + .seconds(60) && record.problem != nil, "\(name)")
            #expect(record.firings.count <= 1, "Those that have not come are not the last ones.")
        }
        bench.time.advance(by: .seconds(60))
        #expect(try await store.fire() == start + .seconds(120))
        #expect(try await store.schedules(nil).map(\.firedCount) == ahead.map { $0 + 1 })
        for name in names {
            let record = try #require(try await store.schedules(name).first)
            #expect(record.problem == nil && record.firings.map(\.due).contains(start + .seconds(60)), "\(name)")
        }
    }

    static func madeFarAhead(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        let start = bench.time.now
        bench.time.set(wall: start + tenYears)
        let schedule = Schedule.of("@every 60s")
        try await store.schedule(.nightly, .put(schedule, replacing: false))
        bench.time.set(wall: start)
        let again = try await store.schedule(.nightly, .put(schedule, replacing: true))
        #expect(again?.nextDue == start + .seconds(60))
        // Nor does a pause keep it silent.
        bench.time.set(wall: start + tenYears)
        _ = try await store.fire()
        try await store.schedule(.nightly, .pause)
        bench.time.set(wall: start)
        let resumed = try await store.schedule(.nightly, .resume)
        #expect(resumed?.nextDue == start + .seconds(60))
    }

    static func endedFarAhead(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        let start = bench.time.now
        for text in ["report", "other"] {
            let name = ScheduleName(stored: text)
            bench.time.set(wall: start)
            var schedule = Schedule.of("@every 60s")
            schedule.ends = start + .seconds(600)
            try await store.schedule(name, .put(schedule, replacing: false))
            for now in [start + tenYears, start + .seconds(1200)] {
                bench.time.set(wall: now)
                _ = try await store.fire()
            }
            #expect(try await store.schedules(name).first?.problem != nil)
            // The same, or another message alone: it is begun anew.
            schedule.message = .text(text)
            let again = try await store.schedule(name, .put(schedule, replacing: true))
            #expect(again?.problem == nil && again?.nextDue == nil)
        }
    }

    static func clockFarBehind(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        let start = bench.time.now
        try await store.schedule(.nightly, .put(.of("0 * * * *", missed: .all), replacing: false))
        for _ in 1...3 {
            bench.time.advance(by: .seconds(3600))
            _ = try await store.fire()
        }
        // As that of a machine which has no battery for it, until it is told the time.
        bench.time.set(wall: start - tenYears)
        _ = try await store.fire()
        bench.time.set(wall: start + .seconds(3 * 3600 + 1800))
        #expect(try await store.fire() == start + .seconds(4 * 3600))
        let record = try await store.schedules(.nightly).first
        #expect(record?.firedCount == 3 && record?.missedCount == 0)
        #expect(try await store.totals().enqueued == 3)
    }

    static func oneIsMadeGood(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        let start = bench.time.now
        try await store.schedule(.nightly, .put(.of("0 * * * *"), replacing: false))
        bench.time.advance(by: .seconds(5 * 3600 + 120))
        #expect(try await store.take(10).count == 1)
        let record = try await store.schedules(.nightly).first
        #expect(record?.firings.map(\.due) == [start + .seconds(5 * 3600)])
        #expect(record?.missedCount == 4)
        #expect(record?.nextDue == start + .seconds(6 * 3600))
        // One that is in time stands for all that were missed.
        bench.time.set(wall: start + .seconds(9 * 3600 + 30))
        #expect(try await store.take(10).count == 1)
        #expect(try await store.schedules(.nightly).first?.missedCount == 7)
    }

    static func missedIsSkipped(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        let start = bench.time.now
        try await store.schedule(.nightly, .put(.of("0 * * * *", missed: .skip), replacing: false))
        bench.time.set(wall: start + .seconds(3600 + 60))
        #expect(try await store.take(10).count == 1, "A minute is not too late.")
        bench.time.set(wall: start + .seconds(2 * 3600 + 61))
        #expect(try await store.take(10).isEmpty)
        let record = try await store.schedules(.nightly).first
        #expect(record?.missedCount == 1 && record?.nextDue == start + .seconds(3 * 3600))
    }

    static func allAreMadeGood(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        let start = bench.time.now
        var all = Schedule.of("0 * * * *", missed: .all)
        all.window = .seconds(3 * 3600)
        try await store.schedule(.nightly, .put(all, replacing: false))
        bench.time.set(wall: start + .seconds(10 * 3600))
        #expect(try await store.take(100).count == 4)
        let record = try await store.schedules(.nightly).first
        #expect(record?.firings.map(\.due) == [10, 9, 8, 7].map { start + .seconds($0 * 3600) })
        #expect(record?.missedCount == 6)
        // More than one transaction takes: all of them all the same.
        all.spec = "* * * * *"
        all.window = .seconds(86_400)
        try await store.schedule(.nightly, .put(all, replacing: true))
        bench.time.advance(by: .seconds(250 * 60))
        _ = try await store.fire()
        #expect(try await store.drain().count == 250)
    }

    static func overlapIsSkipped(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        try await store.schedule(.nightly, .put(.of("* * * * *", key: "nightly"), replacing: false))
        bench.time.advance(by: .seconds(60))
        let first = try await store.takeOne()
        bench.time.advance(by: .seconds(60))
        #expect(try await store.take(10).isEmpty)
        _ = try await store.give(.done, for: first)
        bench.time.advance(by: .seconds(60))
        #expect(try await store.take(10).count == 1)
        #expect(
            try await store.schedules(.nightly).first?.firings.map(\.outcome) == [.enqueued, .skipped, .enqueued])
        #expect(try await store.schedules(.nightly).first?.firedCount == 2)
    }

    static func fullQueue(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        for (policy, outcome) in [
            (OverflowPolicy.fail, FiringRecord.Outcome.queueFull), (.wait, .queueFull), (.dropNewest, .queueFull),
            (.dropOldest, .enqueued),
        ] {
            try await store.configure(.jobs, .set(.steady(1, policy)))
            if try await store.depths().ready == 0 { try await store.put("one") }
            try await store.schedule(.nightly, .put(.of("* * * * *"), replacing: true))
            bench.time.advance(by: .seconds(60))
            _ = try await store.fire()
            #expect(try await store.schedules(.nightly).first?.firings.first?.outcome == outcome)
            #expect(try await store.depths().ready == 1)
        }
        await expect(.queueFull) {
            try await store.configure(.jobs, .set(.steady(1, .fail)))
            return try await store.schedule(.nightly, .run)
        }
    }

    static func firingsKept(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        try await store.schedule(.nightly, .put(.of("* * * * *", missed: .all), replacing: false))
        bench.time.advance(by: .seconds(60 * 130))
        _ = try await store.fire()
        let record = try await store.schedules(.nightly).first
        #expect(record?.firedCount == 130)
        #expect(record?.firings.count == Limits.firingsKeptMax)
        #expect(record?.firings.first?.due == bench.time.now)
        #expect(try await store.schedules(nil).first?.firings.isEmpty == true)
    }
}
