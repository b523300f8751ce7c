import PenstockCore
import PenstockTestKit
import Testing

/// When a message is due that takes the place of another one with its unique key.
enum KeyConflictRules {
    static let cases: ConformanceCase.Rules = [
        "throttle keeps the due time of the first": throttle,
        "throttle of a ready message is due at once": throttleReady,
        "throttle refuses what would expire before it is due": throttleExpires,
        "debounce puts the work off until no more have come": debounce,
        "debounce puts nothing off for longer than it may": debounceIsBounded,
        "all that a debounce has replaced stays on record": windowIsKept,
        "the time of the first outlives any way of replacing": sinceIsCarried,
        "take the place of what waits, and of nothing else": onlyWaiting,
        "need no room": needNoRoom,
        "ring for an earlier due time": ring,
    ]

    static func throttleExpires(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        func message(_ text: String, delay: Duration, expires: Duration) -> NewMessage {
            NewMessage(
                payload: Array(text.utf8), due: .after(delay), uniqueKey: UniqueKey("k", onConflict: .throttle),
                expiry: .after(expires))
        }
        let first = try await store.put(message("first", delay: .seconds(5), expires: .seconds(8))).sequence
        await expect(.invalidInput) {
            try await store.put([.text("other"), message("second", delay: .zero, expires: .seconds(2))])
        }
        #expect(try await store.depths() == .of(scheduled: 1), "Nothing enqueued, nothing replaced.")
        let third = try await store.put(message("third", delay: .zero, expires: .seconds(6)))
        #expect(third.displaced == first && third.state == .scheduled)
        bench.time.advance(by: .seconds(5))
        #expect(try await store.drain() == ["third"])
    }

    private static func keyed(
        _ text: String, _ conflict: KeyConflict, after delay: Int, waitMax: Duration? = nil,
        _ scope: KeyScope = .untilEnded
    ) -> NewMessage {
        .keyed(text, scope, conflict, due: .after(.seconds(delay)), waitMax: waitMax)
    }

    static func throttle(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for scope in KeyScopeRules.scopes {
            let due = bench.time.now + .seconds(10)
            for number in 1...5 {
                let receipt = try await store.put(keyed("\(number)", .throttle, after: 10, scope))
                #expect(receipt.state == .scheduled && (receipt.displaced != nil) == (number > 1), "\(scope)")
                #expect(try await store.record(receipt.sequence).due == due, "\(scope)")
                bench.time.advance(by: .seconds(2))
            }
            #expect(try await store.drain() == ["5"], "\(scope)")
            bench.time.advance(by: .seconds(100))
            for message in try await store.messages(MessageQuery(states: [.leased])) {
                _ = try await store.apply(.cancel, to: .sequences([message.sequence]))
            }
        }
    }

    static func throttleReady(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        try await store.put(.keyed("ready"))
        #expect(try await store.put(keyed("at once", .throttle, after: 60)).state == .ready)
        #expect(try await store.put(keyed("later", .replace, after: 60)).state == .scheduled)
        bench.time.advance(by: .seconds(60))
        // Due, and not yet ready, as nobody has claimed since.
        #expect(try await store.put(keyed("again", .throttle, after: 60)).state == .ready)
        #expect(try await store.drain() == ["again"])

        try await store.configure(.jobs, .set(.steady { $0.groups = .fifo() }))
        try await store.put(.text("first", group: "g"))
        var blocked = NewMessage.keyed("blocked", group: "g")
        blocked.uniqueKey?.key = "blocked"
        #expect(try await store.put(blocked).state == .blocked)
        blocked.due = .after(.seconds(60))
        blocked.uniqueKey?.onConflict = .throttle
        #expect(try await store.put(blocked).state == .blocked, "As if it were due now, in its group.")
    }

    static func debounce(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for number in 1...20 {
            let receipt = try await store.put(keyed("\(number)", .debounce, after: 5))
            #expect(receipt.state == .scheduled && (receipt.displaced != nil) == (number > 1))
            #expect(try await store.record(receipt.sequence).due == bench.time.now + .seconds(5))
            bench.time.advance(by: .seconds(4))
            #expect(try await store.take(10).isEmpty)
        }
        bench.time.advance(by: .seconds(1))
        #expect(try await store.drain() == ["20"])
    }

    /// However many come, the work begins: a debounce cannot starve.
    static func debounceIsBounded(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for scope in KeyScopeRules.scopes.dropLast() {
            let start = bench.time.now
            var claimed: [(text: String, at: Duration)] = []
            for second in 0..<100 {
                try await store.put(keyed("\(second)", .debounce, after: 5, waitMax: .seconds(20), scope))
                for message in try await store.take(10) {
                    claimed.append((message.text, bench.time.now - start))
                    _ = try await store.give(.done, for: message)
                }
                bench.time.advance(by: .seconds(1))
            }
            // The message of the twentieth second is due as it comes, and the next one begins anew.
            #expect(claimed.map(\.text) == ["20", "41", "62", "83"], "\(scope)")
            #expect(claimed.map(\.at) == [20, 41, 62, 83].map { .seconds($0) }, "\(scope)")
            _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.scheduled]))
        }
        // The bound is that of the first one, too.
        let receipt = try await store.put(keyed("alone", .debounce, after: 60, waitMax: .seconds(20)))
        #expect(try await store.record(receipt.sequence).due == bench.time.now + .seconds(20))
        #expect(try await store.put(keyed("now", .debounce, after: 60, waitMax: .zero)).state == .ready)
    }

    static func windowIsKept(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        for number in 1...4 { try await store.put(keyed("\(number)", .debounce, after: 5)) }
        let replaced = try await store.messages(MessageQuery(states: [.cancelled], withPayload: true))
        #expect(replaced.map(\.text) == ["1", "2", "3"])
        #expect(replaced.allSatisfy { $0.reason == .replaced && $0.uniqueKey == "k" })
        #expect(try await store.totals() == .of(enqueued: 4, cancelled: 3))
    }

    static func sinceIsCarried(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let start = bench.time.now
        for (scope, conflict) in [
            (KeyScope.untilEnded, KeyConflict.replace), (.period(.seconds(1000)), .throttle), (.whileWaiting, .replace),
            (.period(.seconds(1000)), .debounce), (.period(.seconds(1000)), .replace),
        ] {
            try await store.put(keyed("one of many", conflict, after: 600, scope))
            bench.time.advance(by: .seconds(10))
        }
        let receipt = try await store.put(keyed("last", .debounce, after: 600, waitMax: .seconds(70)))
        #expect(try await store.record(receipt.sequence).due == start + .seconds(70))
        // What has ended leaves nothing behind.
        _ = try await store.apply(.cancel, to: .sequences([receipt.sequence]))
        let next = try await store.put(keyed("next", .debounce, after: 600, waitMax: .seconds(70)))
        #expect(try await store.record(next.sequence).due == bench.time.now + .seconds(70))
    }

    static func onlyWaiting(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let sequence = try await store.put(.keyed("running")).sequence
        let message = try await store.takeOne()
        for conflict in [KeyConflict.replace, .throttle, .debounce] {
            let receipt = try await store.put(keyed("newcomer", conflict, after: 5))
            #expect(receipt.skipped && receipt.sequence == sequence && receipt.state == .leased)
        }
        #expect(try await store.totals() == .of(enqueued: 1))
        // One that waits for its next attempt is replaced as any other.
        #expect(try await store.give(.retry(error: "again", after: .seconds(30)), for: message) == .settled(.scheduled))
        let receipt = try await store.put(keyed("newcomer", .throttle, after: 5))
        #expect(receipt.displaced == sequence)
        #expect(try await store.record(receipt.sequence).due == bench.time.now + .seconds(30))
    }

    static func needNoRoom(_ bench: Bench) async throws {
        for policy in OverflowPolicy.allCases {
            let store = try await bench.open(.steady(1, policy))
            try await store.configure(.jobs, .set(.steady(1, policy)))
            for scope in KeyScopeRules.scopes {
                try await store.put(keyed("first", .skip, after: 5, scope))
                for conflict in [KeyConflict.throttle, .debounce] {
                    let receipt = try await store.put(keyed("next", conflict, after: 5, scope))
                    #expect(receipt.state == .scheduled && receipt.displaced != nil, "\(policy) \(scope)")
                }
                #expect(try await store.depths().waiting == 1, "\(policy) \(scope)")
                _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.scheduled]))
                bench.time.advance(by: .seconds(100))
            }
            try await store.configure(.jobs, .delete(force: true))
        }
    }

    /// A worker that sleeps until the due time of a message learns that another one is due earlier in its place.
    static func ring(_ bench: Bench) async throws {
        let (store, listener) = try await bench.openTwo(.steady())
        for (conflict, first, second, due) in [
            (KeyConflict.debounce, 60, 5, 5), (.replace, 60, 5, 5), (.throttle, 5, 60, 5), (.debounce, 5, 60, 60),
        ] {
            let start = bench.time.now
            try await store.put(keyed("first", .replace, after: first))
            #expect(
                try await listener.claim(ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30))).nextDue == start
                    + .seconds(first))
            let token = listener.changes.token(for: .jobs)
            try await store.put(keyed("second", conflict, after: second))
            try await listener.changes.wait(for: .jobs, after: token)
            #expect(
                try await listener.claim(ClaimRequest(queue: .jobs, limit: 1, lease: .seconds(30))).nextDue == start
                    + .seconds(due))
            _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.scheduled]))
        }
    }
}
