import PenstockCore
import PenstockTestKit
import Testing

/// How long a message keeps others with its unique key out.
enum KeyScopeRules {
    static let cases: ConformanceCase.Rules = [
        "a key that is held while a message waits is free while it runs": freeWhileRunning,
        "a message that comes back from its worker has its key again": heldAgain,
        "a message that comes back goes on without a key that another one has": goesOnWithout,
        "in a group in order the last one is kept while another one runs": lastIsKept,
        "all scopes share one set of keys": sharedKeys,
        "a dead letter comes back as its scope allows": redrive,
        "hold within a batch, which has room for all or none": batches,
        "schedules enqueue nothing while a key is held": schedules,
        "end with their queue": queueEnds,
        "are on record": record,
    ]

    static let scopes: [KeyScope] = [.untilEnded, .whileWaiting, .period(.seconds(100))]

    static func freeWhileRunning(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let first = try await store.put(.keyed("first", .whileWaiting)).sequence
        #expect(try await store.put(.keyed("skipped", .whileWaiting)).sequence == first)
        let message = try await store.takeOne()
        let second = try await store.put(.keyed("second", .whileWaiting))
        #expect(!second.skipped && second.displaced == nil)
        let third = try await store.put(.keyed("third", .whileWaiting))
        #expect(third.skipped && third.sequence == second.sequence)
        // Both run beside each other, and nothing holds the key.
        let other = try await store.takeOne()
        #expect(other.text == "second")
        let fourth = try await store.put(.keyed("fourth", .whileWaiting, due: .after(.seconds(60))))
        #expect(!fourth.skipped)
        #expect(try await store.give(.done, for: message) == .settled(.done))
        #expect(try await store.give(.dead(error: "bad"), for: other) == .settled(.dead))
        #expect(try await store.put(.keyed("fifth", .whileWaiting)).sequence == fourth.sequence)
        // What is claimed at once with others is freed with them.
        _ = try await store.apply(.cancel, to: .sequences([fourth.sequence]))
        for key in ["a", "b"] {
            try await store.put(
                NewMessage(payload: [], uniqueKey: UniqueKey(key, scope: .whileWaiting)))
        }
        try await store.put(.text("held", key: "c"))
        #expect(try await store.take(10).count == 3)
        for (key, isSkipped) in [("a", false), ("b", false), ("c", true)] {
            #expect(try await store.put(.text("next", key: key)).skipped == isSkipped)
        }
    }

    static func heldAgain(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(attemptsMax: 99))
        for scope in [KeyScope.untilEnded, .whileWaiting] {
            let doomed = try await bench.open()
            let sequence = try await store.put(.keyed("it", scope)).sequence
            func isHeld(_ state: MessageState, sourceLocation: SourceLocation = #_sourceLocation) async throws {
                let receipt = try await store.put(.keyed("newcomer", scope))
                #expect(
                    receipt.skipped && receipt.sequence == sequence && receipt.state == state, "\(scope)",
                    sourceLocation: sourceLocation)
            }
            try await store.work(.release)
            try await isHeld(.ready)
            try await store.work(.retry(error: "again", after: .zero))
            try await isHeld(.ready)
            try await store.work(.retry(error: "again", after: .seconds(60)))
            try await isHeld(.scheduled)
            #expect(try await store.apply(.redrive, to: .sequences([sequence])) == 1)
            try await isHeld(.ready)
            try await store.work(.suspend(until: bench.time.now + .seconds(60)))
            try await isHeld(.scheduled)
            bench.time.advance(by: .seconds(60))
            _ = try await doomed.takeOne()
            try await bench.crash(doomed)
            #expect(try await store.reclaim().fromDeadWorkers == 1)
            try await isHeld(.ready)
            _ = try await store.takeOne(lease: .seconds(1))
            bench.time.advance(by: .seconds(1))
            #expect(try await store.reclaim().fromExpiredLeases == 1)
            try await isHeld(.ready)
            try await store.work(.dead(error: "bad"))
            #expect(try await store.apply(.redrive, to: .sequences([sequence])) == 1)
            try await isHeld(.ready)
            try await store.work(.done)
            #expect(try await !store.put(.keyed("next", scope)).skipped)
            try await store.work(.done)
        }
    }

    static func goesOnWithout(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let first = try await store.put(.keyed("first", .whileWaiting)).sequence
        let message = try await store.takeOne()
        let second = try await store.put(.keyed("second", .whileWaiting, due: .after(.seconds(60)))).sequence
        #expect(try await store.give(.release, for: message) == .settled(.ready))
        #expect(try await store.put(.keyed("third", .whileWaiting)).sequence == second, "The second one has the key.")
        // What becomes of the one without leaves the other's key alone, and the other way round.
        #expect(try await store.apply(.cancel, to: .sequences([second])) == 1)
        let fourth = try await store.put(.keyed("fourth", .whileWaiting))
        #expect(!fourth.skipped, "The first one takes no key while it waits.")
        #expect(try await store.apply(.cancel, to: .sequences([first])) == 1)
        #expect(try await store.put(.keyed("fifth", .whileWaiting)).sequence == fourth.sequence)
        // A message that replaces replaces the holder, and nothing else.
        let again = try await store.takeOne()
        let holder = try await store.put(.keyed("sixth", .whileWaiting)).sequence
        #expect(try await store.give(.release, for: again) == .settled(.ready))
        #expect(try await store.put(.keyed("seventh", .whileWaiting, .replace)).displaced == holder)
        #expect(try await store.drain() == ["fourth", "seventh"])
    }

    static func lastIsKept(_ bench: Bench) async throws {
        let store = try await bench.open(.steady { $0.groups = .fifo() })
        try await store.put(.keyed("1", .whileWaiting, .replace, group: "g"))
        let running = try await store.takeOne()
        for number in 2...5 {
            let receipt = try await store.put(.keyed("\(number)", .whileWaiting, .replace, group: "g"))
            #expect(receipt.state == .blocked && !receipt.skipped)
            #expect((receipt.displaced != nil) == (number > 2))
        }
        #expect(try await store.take(9).isEmpty, "One at a time.")
        #expect(try await store.give(.done, for: running) == .settled(.done))
        #expect(try await store.drain() == ["5"])
        #expect(try await store.totals() == .of(enqueued: 5, done: 1, cancelled: 3))
    }

    static func sharedKeys(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for held in scopes {
            for arriving in scopes {
                let holder = try await store.put(.keyed("holder", held)).sequence
                let skipped = try await store.put(.keyed("newcomer", arriving))
                #expect(skipped.skipped && skipped.sequence == holder, "\(held) \(arriving)")
                let replacing = try await store.put(.keyed("newcomer", arriving, .replace))
                #expect(replacing.displaced == holder, "\(held) \(arriving)")
                #expect(try await store.put(.keyed("next", held)).sequence == replacing.sequence)
                _ = try await store.apply(.cancel, to: .sequences([replacing.sequence]))
                bench.time.advance(by: .seconds(100))
            }
        }
    }

    static func redrive(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        var dead: [SequenceNumber] = []
        for scope in scopes {
            dead.append(try await store.put(.keyed("dead", scope)).sequence)
            try await store.work(.dead(error: "bad"))
        }
        // The period is not over, so the one that holds its key to the end has to wait.
        await expect(.illegalTransition) { [dead] in try await store.apply(.redrive, to: .sequences([dead[0]])) }
        #expect(try await store.apply(.redrive, to: .queue(.jobs, states: [.dead])) == 2)
        #expect(try await store.put(.keyed("newcomer")).sequence == dead[2])
        for _ in 1...2 { try await store.work(.dead(error: "bad")) }
        bench.time.advance(by: .seconds(100))
        // The first of those that go back together has the key.
        #expect(try await store.apply(.redrive, to: .sequences(dead)) == 3)
        #expect(try await store.put(.keyed("newcomer")).sequence == dead[0])
        #expect(try await store.apply(.cancel, to: .sequences([dead[0]])) == 1)
        #expect(try await !store.put(.keyed("newcomer")).skipped, "The second one goes without.")
    }

    static func batches(_ bench: Bench) async throws {
        let store = try await bench.open(.steady(3, .fail))
        for scope in scopes {
            let receipts = try await store.put([
                .keyed("a", scope), .keyed("b", .untilEnded), .keyed("c", scope, .replace), .keyed("d", scope),
                .text("free"), .keyed("e", scope, .debounce, due: .after(.seconds(5))),
            ])
            #expect(receipts.map(\.skipped) == [false, true, false, true, false, false], "\(scope)")
            #expect(receipts[1].sequence == receipts[0].sequence && receipts[3].sequence == receipts[2].sequence)
            #expect(receipts[0].state == .ready, "The receipt tells the state at acceptance.")
            #expect(try await store.record(receipts[0].sequence).reason == .replaced)
            #expect(receipts[2].displaced == receipts[0].sequence)
            #expect(receipts[5].displaced == receipts[2].sequence && receipts[5].state == .scheduled)
            // Room for one more, and not for two.
            await expect(.queueFull) {
                try await store.put([.keyed("f", scope, .replace), .text("1"), .text("2", key: "other")])
            }
            #expect(try await store.put(.keyed("g", scope)).sequence == receipts[5].sequence, "Nothing was replaced.")
            try await store.put([.keyed("f", scope, .replace), .text("1"), .keyed("h", scope)])
            #expect(try await store.depths().ready == 3)
            _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.ready]))
            bench.time.advance(by: .seconds(100))
        }
        // A key whose period is over needs room as any other.
        try await store.put([.keyed("a", .period(.seconds(1))), .text("1"), .text("2")])
        bench.time.advance(by: .seconds(1))
        await expect(.queueFull) { try await store.put([.keyed("b"), .keyed("c")]) }
    }

    static func schedules(_ bench: Bench) async throws {
        let store = try await ScheduleRules.open(bench)
        func put(_ key: UniqueKey) async throws {
            var schedule = Schedule.of("* * * * *")
            schedule.message.uniqueKey = key
            let made = try await store.schedule(.nightly, .put(schedule, replacing: true))
            #expect(made?.schedule.message.uniqueKey == key)
        }
        try await put(UniqueKey("k", scope: .period(.seconds(150))))
        for isEnqueued in [true, false, false, true] {
            bench.time.advance(by: .seconds(60))
            #expect(try await (store.take(10).count == 1) == isEnqueued)
        }
        try await put(UniqueKey("other", scope: .whileWaiting, onConflict: .replace))
        for _ in 1...3 {
            bench.time.advance(by: .seconds(60))
            _ = try await store.fire()
        }
        #expect(try await store.take(10).count == 1)
        for conflict in [KeyConflict.throttle, .debounce] {
            await expect(.invalidInput) { try await put(UniqueKey("k", onConflict: conflict)) }
        }
    }

    static func queueEnds(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for scope in scopes {
            for verdict in [Verdict.done, nil] {
                try await store.put(.keyed("it", scope))
                if let verdict {
                    try await store.work(verdict)
                } else {
                    _ = try await store.takeOne()
                }
                try await store.configure(.jobs, .delete(force: true))
                try await store.configure(.jobs, .create(.steady(), ifAbsent: false))
                #expect(try await !store.put(.keyed("next", scope)).skipped, "\(scope)")
                #expect(try await store.apply(.cancel, to: .queue(.jobs, states: [.ready])) == 1)
                bench.time.advance(by: .seconds(100))
            }
        }
    }

    static func record(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for scope in scopes {
            let sequence = try await store.put(.keyed("it", scope)).sequence
            #expect(try await store.record(sequence).keyScope == scope)
            _ = try await store.apply(.cancel, to: .sequences([sequence]))
            bench.time.advance(by: .seconds(100))
        }
        #expect(try await store.record(store.put("it")).keyScope == nil)
        func refused(_ key: UniqueKey, due: Due = .now) async {
            await expect(.invalidInput) { try await store.put(NewMessage(payload: [], due: due, uniqueKey: key)) }
        }
        await refused(UniqueKey("k", scope: .period(.zero)))
        await refused(UniqueKey("k", scope: .period(.seconds(367 * 24 * 3600))))
        await refused(UniqueKey("k", onConflict: .debounce))
        await refused(UniqueKey("k", onConflict: .debounce), due: .after(.zero))
        await refused(UniqueKey("k", onConflict: .throttle, waitMax: .seconds(1)), due: .after(.seconds(1)))
        await refused(UniqueKey("k", onConflict: .debounce, waitMax: .seconds(-1)), due: .after(.seconds(1)))
    }
}
