import PenstockCore
import PenstockTestKit
import Testing

/// Messages that are enqueued again and again.
enum ScheduleRules {
    static let cases: ConformanceCase.Rules = [
        "what is paused is not missed": pausedIsNotMissed,
        "starts and ends bound it": bounds,
        "another spec counts from now": replaced,
        "another message keeps what is due": otherMessage,
        "is run by hand, and keeps its next firing": runByHand,
        "is run by hand while its key is held, and loses no firing": runInVain,
        "has a problem when its queue refuses its message": refusedMessage,
        "fires though what it puts off expires later than a message may that comes now": expiresLate,
        "is removed by name, and with its queue": removed,
        "goes by the clocks of its zone": zones,
        "its message is what was asked for, and may be put off": message,
        "rings when it is made": rings,
        "is read by pages": pages,
        "checks its input": checksInput,
    ]

    /// A process with a queue, at a whole hour.
    static func open(_ bench: Bench) async throws -> any MessageStore {
        let store = try await bench.open(.steady())
        let hour: Int64 = 3_600_000_000
        let now = bench.time.now.microseconds
        bench.time.advance(by: .microseconds(hour - now % hour))
        return store
    }

    static func pausedIsNotMissed(_ bench: Bench) async throws {
        let store = try await open(bench)
        let start = bench.time.now
        try await store.schedule(.nightly, .put(.of("0 * * * *", missed: .all), replacing: false))
        let paused = try await store.schedule(.nightly, .pause)
        #expect(paused?.isPaused == true && paused?.nextDue == nil)
        bench.time.set(wall: start + .seconds(5 * 3600 + 1))
        #expect(try await store.fire() == nil)
        let resumed = try await store.schedule(.nightly, .resume)
        #expect(resumed?.nextDue == start + .seconds(6 * 3600))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.schedules(.nightly).first?.missedCount == 0)
    }

    static func bounds(_ bench: Bench) async throws {
        let store = try await open(bench)
        let start = bench.time.now
        var bounded = Schedule.of("0 * * * *")
        bounded.starts = start + .seconds(2 * 3600)
        bounded.ends = start + .seconds(3 * 3600)
        #expect(try await store.schedule(.nightly, .put(bounded, replacing: false))?.nextDue == bounded.starts)
        bench.time.set(wall: start + .seconds(2 * 3600))
        #expect(try await store.take(10).count == 1)
        bench.time.set(wall: start + .seconds(3 * 3600))
        #expect(try await store.take(10).count == 1)
        #expect(try await store.schedules(.nightly).first?.nextDue == nil)
        bench.time.set(wall: start + .seconds(4 * 3600))
        #expect(try await store.fire() == nil)
        #expect(try await store.take(10).isEmpty)
        // A period counts from the start.
        bounded.spec = "@every 45m"
        bounded.starts = start + .seconds(5 * 3600)
        bounded.ends = nil
        #expect(try await store.schedule(.nightly, .put(bounded, replacing: true))?.nextDue == bounded.starts)
        bench.time.set(wall: start + .seconds(5 * 3600))
        #expect(try await store.take(10).count == 1)
        #expect(try await store.schedules(.nightly).first?.nextDue == start + .seconds(5 * 3600 + 45 * 60))
    }

    static func replaced(_ bench: Bench) async throws {
        let store = try await open(bench)
        let start = bench.time.now
        try await store.schedule(.nightly, .put(.of("0 * * * *"), replacing: false))
        await expect(.scheduleExists) {
            try await store.schedule(.nightly, .put(.of("30 * * * *"), replacing: false))
        }
        bench.time.advance(by: .seconds(600))
        let other = try await store.schedule(.nightly, .put(.of("5 * * * *", "other"), replacing: true))
        #expect(other?.nextDue == start + .seconds(3900))
        // To say the same again changes nothing, so what is due is not put off by it.
        bench.time.advance(by: .seconds(3300))
        try await store.schedule(.nightly, .put(.of("5 * * * *", "other"), replacing: true))
        #expect(try await store.drain() == ["other"])
    }

    /// A program that says at each of its starts what it wants, and whose payload is other bytes each time: encrypted, or of a set.
    static func otherMessage(_ bench: Bench) async throws {
        let store = try await open(bench)
        let start = bench.time.now
        try await store.schedule(.nightly, .put(.of("@every 1h", "start 0"), replacing: false))
        for number in 1...3 {
            bench.time.advance(by: .seconds(3900))
            // What is due is not put off by it, and its message is the new one.
            var other = Schedule.of("@every 1h", "start \(number)")
            other.message.headers = ["a": "b"]
            let record = try await store.schedule(.nightly, .put(other, replacing: true))
            #expect(record?.schedule == other && record?.nextDue == start + .seconds(3600 * Int64(number)))
            #expect(try await store.drain() == ["start \(number)"])
        }
        // A text is its bytes, though Swift takes these for equal.
        for accent in ["\u{e9}", "e\u{301}"] {
            var other = Schedule.of("@every 1h", "start 3")
            other.message.headers = ["a": accent]
            let record = try await store.schedule(.nightly, .put(other, replacing: true))
            #expect(record?.schedule.message.headers["a"].map { Array($0.utf8) } == Array(accent.utf8))
        }
        let record = try await store.schedules(.nightly).first
        #expect(record?.firedCount == 3 && record?.missedCount == 0)
        #expect(record?.nextDue == start + .seconds(4 * 3600))
        // Nor is what has ended begun anew.
        var ended = Schedule.of("@every 1h", "last")
        ended.ends = bench.time.now + .seconds(3600)
        try await store.schedule(.nightly, .put(ended, replacing: true))
        bench.time.advance(by: .seconds(7200))
        #expect(try await store.drain().count == 1)
        ended.message.payload = [1]
        #expect(try await store.schedule(.nightly, .put(ended, replacing: true))?.nextDue == nil)
    }

    static func runByHand(_ bench: Bench) async throws {
        let store = try await open(bench)
        try await store.schedule(.nightly, .put(.of("0 * * * *"), replacing: false))
        let due = try await store.schedule(.nightly, .pause)?.nextDue
        let ran = try await store.schedule(.nightly, .run)
        #expect(ran?.nextDue == due && ran?.firings.map(\.outcome) == [.byHand] && ran?.firedCount == 1)
        #expect(try await store.drain() == ["report"])
        // What is due of others is for claims.
        let other = try ScheduleName("other")
        try await store.schedule(other, .put(.of("* * * * *", "other", missed: .all), replacing: false))
        bench.time.advance(by: .seconds(3600))
        try await store.schedule(.nightly, .run)
        #expect(try await store.schedules(other).first?.firedCount == 0)
        #expect(try await store.status(of: .jobs).queues.first?.depths.ready == 1)
    }

    /// What is on record as a firing by the spec counts as fired, and all before it.
    static func runInVain(_ bench: Bench) async throws {
        let store = try await open(bench)
        try await store.schedule(.nightly, .put(.of("* * * * *", key: "nightly"), replacing: false))
        bench.time.advance(by: .seconds(60))
        let first = try await store.takeOne()
        bench.time.advance(by: .seconds(90))
        let told = try await store.schedule(.nightly, .run)
        #expect(told?.firings.map(\.outcome) == [.skipped, .enqueued] && told?.firedCount == 1)
        #expect(told?.firings.first?.sequence == first.sequence && told?.firings.first?.due == bench.time.now)
        #expect(try await store.schedules(.nightly).first?.firings.map(\.outcome) == [.enqueued])
        _ = try await store.give(.done, for: first)
        #expect(try await store.take(10).count == 1)
        #expect(try await store.schedules(.nightly).first?.firings.map(\.outcome) == [.enqueued, .enqueued])
    }

    static func removed(_ bench: Bench) async throws {
        let store = try await open(bench)
        try await store.configure(.mail, .create(.steady(), ifAbsent: true))
        try await store.schedule(.nightly, .put(.of("* * * * *"), replacing: false))
        try await store.schedule(ScheduleName("other"), .put(.of("* * * * *", queue: .mail), replacing: false))
        #expect(try await store.schedules(nil).map(\.name.text) == ["nightly", "other"])
        #expect(try await store.schedule(.nightly, .remove) == nil)
        await expect(.unknownSchedule) { try await store.schedule(.nightly, .remove) }
        await expect(.unknownSchedule) { try await store.schedules(.nightly) }
        bench.time.advance(by: .seconds(60))
        _ = try await store.fire()
        #expect(try await store.totals().enqueued == 0)
        try await store.configure(.mail, .delete(force: true))
        #expect(try await store.schedules(nil).isEmpty)
        #expect(try await store.fire() == nil)
    }

    static func zones(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        // Noon of 30 March 2030, the day before the clocks of Paris are put forward at two.
        let noon = Timestamp(microseconds: 1_901_102_400_000_000)
        bench.time.set(wall: noon)
        var night = Schedule.of("30 2 * * *")
        night.zone = "Europe/Paris"
        let made = try await store.schedule(.nightly, .put(night, replacing: false))
        #expect(made?.nextDue == noon + .seconds(13 * 3600))
        bench.time.set(wall: noon + .seconds(13 * 3600))
        #expect(try await store.take(10).count == 1)
        #expect(try await store.schedules(.nightly).first?.nextDue == noon + .seconds(36 * 3600 + 1800))
    }

    static func message(_ bench: Bench) async throws {
        let store = try await open(bench)
        var put = Schedule.of("* * * * *", key: "k")
        put.message.headers = ["kind": "report"]
        put.message.priority = 7
        put.message.attemptsMax = 2
        try await store.schedule(.nightly, .put(put, replacing: false))
        bench.time.advance(by: .seconds(60))
        let message = try await store.takeOne()
        #expect(message.headers == ["kind": "report"] && message.priority == 7)
        let record = try await store.record(message.sequence)
        #expect(record.uniqueKey == "k" && record.attemptsMax == 2)
        let read = try await store.schedules(.nightly).first?.schedule.message
        #expect(read?.headers == ["kind": "report"] && read?.payload == Array("report".utf8))
        _ = try await store.give(.done, for: message)
        put.jitter = .seconds(600)
        try await store.schedule(.nightly, .put(put, replacing: true))
        bench.time.advance(by: .seconds(60))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.depths().scheduled == 1)
        try await store.schedule(.nightly, .pause)
        bench.time.advance(by: .seconds(600))
        #expect(try await store.take(10).count == 1)
    }

    static func rings(_ bench: Bench) async throws {
        let store = try await open(bench)
        let token = store.changes.token(for: .jobs)
        try await store.schedule(.nightly, .put(.of("* * * * *"), replacing: false))
        try await store.changes.wait(for: .jobs, after: token)
    }

    /// Nothing was enqueued, and nothing would be by trying again at once.
    static func refusedMessage(_ bench: Bench) async throws {
        let store = try await open(bench)
        let plain = try await store.status(of: .jobs).queue(.jobs).policy
        var grouped = plain
        grouped.groups = .fifo()
        try await store.configure(.jobs, .set(grouped))
        let one = Schedule(queue: .jobs, spec: "* * * * *", message: .text("report", group: "g"))
        try await store.schedule(.nightly, .put(one, replacing: false))
        try await store.configure(.jobs, .set(plain))
        for _ in 1...3 {
            bench.time.advance(by: .seconds(60))
            let next = try await store.fire()
            #expect(next.map { $0 > bench.time.now } ?? true, "Whoever waits for it does not spin.")
            let record = try #require(try await store.schedules(.nightly).first)
            #expect(record.problem != nil && record.firedCount == 0 && record.firings == [])
        }
        await expect(.invalidInput) { try await store.schedule(.nightly, .run) }
        // There are groups again, and it goes on.
        try await store.configure(.jobs, .set(grouped))
        bench.time.advance(by: .seconds(60))
        _ = try await store.fire()
        #expect(try await store.schedules(.nightly).first?.firedCount == 1)
        #expect(try await store.schedules(.nightly).first?.problem == nil)
    }

    static func expiresLate(_ bench: Bench) async throws {
        let store = try await open(bench)
        var one = Schedule.of("* * * * *")
        one.message.expiry = .after(Limits.delayMax)
        one.jitter = Limits.scheduleJitterMax
        try await store.schedule(.nightly, .put(one, replacing: false))
        for count: Int64 in 1...3 {
            bench.time.advance(by: .seconds(60))
            _ = try await store.fire()
            let record = try #require(try await store.schedules(.nightly).first)
            #expect(record.firedCount == count && record.problem == nil)
        }
        #expect(try await store.depths() == .of(scheduled: 3))
    }

    static func checksInput(_ bench: Bench) async throws {
        let store = try await open(bench)
        func refused(_ code: PenstockError.Code = .invalidInput, _ change: (inout Schedule) -> Void) async {
            var wrong = Schedule.of("@daily")
            change(&wrong)
            await expect(code) { [wrong] in try await store.schedule(.nightly, .put(wrong, replacing: false)) }
        }
        await refused { $0.spec = "0 0 30 2 *" }
        await refused { $0.zone = "Europe/Atlantis" }
        await refused { $0.zone = "../../etc/passwd" }
        await refused { $0.message.due = .after(.seconds(1)) }
        await refused { $0.message.priority = 1000 }
        await refused { $0.window = .seconds(-1) }
        await refused { $0.jitter = .seconds(86_401) }
        await refused { ($0.starts, $0.ends) = (Timestamp(microseconds: 2), Timestamp(microseconds: 1)) }
        await refused(.unknownQueue) { $0.queue = .mail }
        for change in [ScheduleChange.pause, .resume, .run, .remove] {
            await expect(.unknownSchedule) { try await store.schedule(.nightly, change) }
        }
        await expect(.invalidInput) { try ScheduleName("") }
        #expect(try await store.schedules(nil).isEmpty)
    }
}
