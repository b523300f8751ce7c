import PenstockCore
import PenstockTestKit
import Testing

/// What becomes of groups when they are paused, or their queue is told otherwise.
enum GroupChangeRules {
    static let cases: ConformanceCase.Rules = [
        "that are paused give nothing until they are resumed": paused,
        "that are paused take back what is released": releasedWhilePaused,
        "with fewer permits take nothing from workers": fewer,
        "with fewer permits take back what is released, and what is tried again": fewerForWhatComesBack,
        "with more permits give them out": more,
        "come to be in order, and let the first one go first": firstInOrder,
        "come to be in order, and to be none": modes,
        "are seen to in steps, which others go on with": steps,
        "come to be in order, however many of their messages are ready": manyReady,
        "come to have a limit, however many of their messages are ready": manyReadyAtALimit,
        "hold up no other group, however many permits they keep": keptPermits,
        "are had by schedules again that have gone without": schedules,
        "must be known to their queue, with a key that can be": doors,
        "go with the queue": deletion,
    ]

    private static func set(_ groups: GroupPolicy?, _ store: any MessageStore) async throws {
        try await store.configure(.jobs, .set(.steady { $0.groups = groups }))
    }

    static func paused(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .limit(2))
        for text in ["a1", "a2", "a3", "a4"] { try await store.put(.text(text, group: "a")) }
        let a1 = try await store.takeOne()
        try await store.configure(.jobs, .pauseGroup("a"))
        try await store.configure(.jobs, .pauseGroup("a"))
        #expect(try await store.depths() == .of(blocked: 3, leased: 1))
        let record = GroupRecord(key: "a", permitted: 1, blocked: 3, isPaused: true)
        #expect(try await store.groups(GroupQuery(queue: .jobs)) == [record])
        try await store.put(.text("b1", group: "b"))
        #expect(try await store.drain() == ["b1"])
        #expect(try await store.give(.done, for: a1) == .settled(.done))
        #expect(try await store.put(.text("a5", group: "a")).state == .blocked)
        #expect(try await store.take(10).isEmpty)
        // Also where nothing of it waits yet, and where several come together.
        try await store.configure(.jobs, .pauseGroup("c"))
        #expect(try await store.put(["c1", "c2"].map { .text($0, group: "c") }).map(\.state) == [.blocked, .blocked])
        #expect(try await store.take(10).isEmpty)
        try await store.configure(.jobs, .resumeGroup("a"))
        #expect(try await store.drain() == ["a2", "a3"])
        // A group that has no messages can be paused.
        try await store.configure(.jobs, .pauseGroup("z"))
        #expect(try await store.put(.text("z1", group: "z")).state == .blocked)
        try await store.configure(.jobs, .resumeGroup("z"))
        #expect(try await store.drain() == ["z1"])
    }

    static func releasedWhilePaused(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        for text in ["a1", "a2"] { try await store.put(.text(text, group: "a")) }
        let a1 = try await store.takeOne()
        try await store.configure(.jobs, .pauseGroup("a"))
        #expect(try await store.give(.release, for: a1) == .settled(.blocked))
        #expect(try await store.take(10).isEmpty)
        try await store.configure(.jobs, .resumeGroup("a"))
        let again = try await store.takeOne()
        #expect(again.text == "a1")
        #expect(try await store.give(.retry(error: "no"), for: again) == .settled(.scheduled))
        try await store.configure(.jobs, .pauseGroup("a"))
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take(10).isEmpty)
        try await store.configure(.jobs, .resumeGroup("a"))
        #expect(try await store.takeOne().text == "a1")
    }

    static func fewer(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .limit(4))
        for index in 1...6 { try await store.put(.text("a\(index)", group: "a")) }
        let held = try await store.take(3)
        #expect(try await store.depths() == .of(blocked: 2, ready: 1, leased: 3))
        try await set(.limit(2), store)
        #expect(try await store.depths() == .of(blocked: 3, leased: 3))
        #expect(try await store.extend(held.map(\.lease), by: .seconds(60)) == [true, true, true])
        #expect(try await store.give(.done, for: held[0]) == .settled(.done))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.give(.done, for: held[1]) == .settled(.done))
        #expect(try await store.depths() == .of(blocked: 2, ready: 1, leased: 1, kept: 2))
        try await set(.limit(1), store)
        #expect(try await store.depths() == .of(blocked: 3, leased: 1, kept: 2))
        #expect(try await store.give(.release, for: held[2]) == .settled(.ready))
        #expect(try await store.drain() == ["a3"])
    }

    /// One that a worker gives back while too many permits are given starts no more before its group has come down to them.
    static func fewerForWhatComesBack(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .limit(3))
        for index in 1...4 { try await store.put(.text("a\(index)", group: "a")) }
        let held = try await store.take(3)
        try await set(.limit(1), store)
        #expect(try await store.give(.release, for: held[0]) == .settled(.blocked))
        #expect(try await store.give(.retry(error: "no"), for: held[1]) == .settled(.scheduled))
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.depths() == .of(blocked: 3, leased: 1))
        #expect(try await store.give(.done, for: held[2]) == .settled(.done))
        #expect(try await store.drain() == ["a1"])
    }

    /// The one that has the permit was not the first by its number, and has not begun.
    static func firstInOrder(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .limit(1))
        for index in 1...3 { try await store.put(.text("a\(index)", priority: index, group: "a")) }
        #expect(try await store.work(.done) == SequenceNumber(1))
        #expect(try await store.state(of: SequenceNumber(3)) == .ready)
        try await set(.fifo(), store)
        #expect(try await store.depths() == .of(blocked: 1, ready: 1, kept: 1))
        #expect(try await store.work(.done) == SequenceNumber(2))
        #expect(try await store.work(.done) == SequenceNumber(3))
    }

    static func more(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .limit(1))
        for index in 1...5 { try await store.put(.text("a\(index)", group: "a")) }
        let other = try await bench.open()
        let token = other.changes.token(for: .jobs)
        try await set(.limit(3), store)
        try await other.changes.wait(for: .jobs, after: token)
        #expect(try await other.drain() == ["a1", "a2", "a3"])
        #expect(try await store.depths() == .of(blocked: 2, leased: 3))
    }

    static func modes(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .limit(3))
        for index in 1...5 { try await store.put(.text("a\(index)", priority: index, group: "a")) }
        #expect(try await store.depths() == .of(blocked: 2, ready: 3))
        // In order the first one comes first, whatever the priorities.
        try await set(.fifo(), store)
        #expect(try await store.depths() == .of(blocked: 4, ready: 1))
        #expect(try await store.work(.done) == SequenceNumber(1))
        let second = try await store.takeOne()
        #expect(second.sequence == SequenceNumber(2))
        #expect(try await store.give(.retry(error: "no"), for: second) == .settled(.scheduled))
        // One that waits for its next attempt holds up no group that is not in order.
        try await set(.limit(1), store)
        #expect(try await store.depths() == .of(scheduled: 1, blocked: 2, ready: 1, kept: 1))
        try await set(nil, store)
        #expect(try await store.depths() == .of(scheduled: 1, ready: 3, kept: 1))
        #expect(try await store.drain() == ["a5", "a4", "a3"])
        // They are still in their group when there are groups again.
        try await set(.limit(3), store)
        bench.time.advance(by: .seconds(1))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.depths() == .of(blocked: 1, leased: 3, kept: 1))
    }

    static func steps(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        let messageCount = Limits.regroupCountMax + 100
        try await store.put((0..<messageCount).map { .text("\($0)", group: "a") })
        struct Died: Error {}
        let doomed = try await bench.open { throw Died() }
        // A store that does it in one step has done it.
        try? await doomed.configure(.jobs, .set(.steady()))
        try await bench.crash(doomed)
        var count = 0
        while count < messageCount {
            let claim = try await store.claim(ClaimRequest(queue: .jobs, limit: 10_000, lease: .seconds(30)))
            count += claim.messages.count
            if claim.messages.isEmpty { try #require(claim.nextDue.map { $0 <= bench.time.now } == true) }
        }
        #expect(try await store.depths() == .of(leased: messageCount))
        #expect(try await store.groups(GroupQuery(queue: .jobs)).isEmpty)
        // Nothing is left of groups when there are none; and all of it again when there are.
        try await set(.limit(7), store)
        #expect(try await store.groups(GroupQuery(queue: .jobs)).map(\.permitted) == [messageCount])
    }

    static func manyReady(_ bench: Bench) async throws {
        let store = try await bench.open(.steady { $0.isFair = true })
        let count = 2 * Limits.regroupCountMax + 100
        try await store.put((1...count).map { .text("\($0)", group: "a") })
        let held = try await store.take(2)
        #expect(held.map(\.text) == ["1", "2"])
        try await set(.fifo(), store)
        #expect(try await store.depths() == .of(blocked: count - 2, leased: 2))
        #expect(try await store.give(.done, for: held[0]) == .settled(.done))
        #expect(try await store.take(10).isEmpty)
        #expect(try await store.give(.release, for: held[1]) == .settled(.ready))
        for number: Int64 in 2...4 { #expect(try await store.work(.done) == SequenceNumber(number)) }
        #expect(try await store.depths() == .of(blocked: count - 5, ready: 1, kept: 4))
    }

    static func manyReadyAtALimit(_ bench: Bench) async throws {
        let store = try await bench.open(.steady { $0.isFair = true })
        let count = 3 * Limits.regroupCountMax + 100
        try await store.put((1...count).map { .text("\($0)", priority: $0 % 3, group: "a") })
        let held = try await store.take(2)
        #expect(held.map(\.text) == ["2", "5"])
        try await set(.limit(4), store)
        #expect(try await store.depths() == .of(blocked: count - 4, ready: 2, leased: 2))
        #expect(try await store.take(10).map(\.text) == ["8", "11"])
        #expect(try await store.give(.done, for: held[0]) == .settled(.done))
        #expect(try await store.take(10).map(\.text) == ["14"])
    }

    static func keptPermits(_ bench: Bench) async throws {
        let count = Limits.groupLimitRange.upperBound
        let store = try await GroupRules.open(bench, .limit(count))
        try await store.put((1...count).map { .text("a\($0)", group: "a") })
        let messages = try await store.take(count)
        #expect(messages.count == count)
        try await set(.fifo(onDead: .hold), store)
        _ = try await store.settle(messages.map { Settlement($0.lease, .dead(error: "bad")) })
        try await store.configure(.jobs, .pauseGroup("a"))
        try await store.configure(.jobs, .resumeGroup("a"))
        #expect(try await store.groups(GroupQuery(queue: .jobs)).map(\.permitted) == [count])
        try await store.put(.text("b", group: "b"))
        #expect(try await store.drain() == ["b"])
    }

    static func schedules(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        let schedule = Schedule(queue: .jobs, spec: "@every 10s", message: .text("it", group: "a"))
        try await store.schedule(ScheduleName(stored: "s"), .put(schedule, replacing: false))
        bench.time.advance(by: .seconds(10))
        #expect(try await store.drain() == ["it"])
        try await set(nil, store)
        bench.time.advance(by: .seconds(10))
        #expect(try await store.drain().isEmpty)
        let other = Schedule(queue: .jobs, spec: "@every 10s", message: .text("other", group: "a"))
        await expect(.invalidInput) {
            try await store.schedule(ScheduleName(stored: "t"), .put(other, replacing: false))
        }
        try await set(.limit(5), store)
        bench.time.advance(by: .seconds(10))
        #expect(try await store.drain() == ["it"])
    }

    static func doors(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let plain = NewMessage.text("plain")
        await expect(.invalidInput) { try await store.put([plain, .text("it", group: "a")]) }
        let task = NewTask(TaskName(stored: "t"), queue: .jobs, message: .text("it", group: "a"))
        await expect(.invalidInput) {
            try await store.start(NewWorkflow(nil, tasks: [task]), durability: .processCrash)
        }
        await expect(.invalidInput) { try await store.configure(.jobs, .pauseGroup("a")) }
        try await set(.fifo(), store)
        for key in ["", "a\u{0}b", String(repeating: "k", count: Limits.groupKeyBytesMax + 1)] {
            await expect(.invalidInput) { try await store.put(.text("it", group: key)) }
            await expect(.invalidInput) { try await store.configure(.jobs, .pauseGroup(key)) }
        }
        try await store.put(.text("it", group: String(repeating: "k", count: Limits.groupKeyBytesMax)))
        await expect(.invalidInput) {
            try await store.append([.text("it", group: "a")], to: .jobs, unless: nil, durability: .processCrash)
        }
        for limit in [0, -1, Limits.groupLimitRange.upperBound + 1] {
            await expect(.invalidInput) { try await set(.limit(limit), store) }
        }
        await expect(.unknownQueue) { try await store.groups(GroupQuery(queue: .mail)) }
        await expect(.invalidInput) { try await store.groups(GroupQuery(queue: .jobs, limit: 0)) }
        #expect(try await store.depths() == .of(ready: 1))
    }

    static func deletion(_ bench: Bench) async throws {
        let store = try await GroupRules.open(bench, .fifo())
        for text in ["a1", "a2"] { try await store.put(.text(text, group: "a")) }
        #expect(try await store.apply(.cancel, to: [SequenceNumber(1)]) == 1)
        try await store.put(.text("a3", group: "a"))
        try await store.configure(.jobs, .pauseGroup("a"))
        await expect(.illegalTransition) { try await store.configure(.jobs, .delete(force: false)) }
        try await store.configure(.jobs, .delete(force: true))
        try await store.configure(.jobs, .create(.steady(), ifAbsent: false))
        try await set(.fifo(), store)
        #expect(try await store.groups(GroupQuery(queue: .jobs)).isEmpty)
        try await store.put(.text("new", group: "a"))
        #expect(try await store.drain() == ["new"])
    }
}
