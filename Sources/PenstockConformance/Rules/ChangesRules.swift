import PenstockCore
import PenstockTestKit
import Testing

/// When the bell rings. Each case waits for the ring itself, however long: one that does not come shows as a test that
/// hangs until its time limit, at the line that names the change. It does so only where nothing but a ring ends the wait
/// (``ConformanceCase/rings``).
enum ChangesRules {
    static let cases: ConformanceCase.Rules = [
        "ring for this process and for others": ringForAll,
        "ring when messages come into the line": ringForArrivals,
        "ring when messages come back": ringForReturns,
        "ring when there is room": ringForRoom,
        "ring when a queue changes": ringForQueues,
        "lose no ring between a token and the wait": loseNoRing,
        "wake who waits already": wakeWaiters,
        "wake who waits when the store is closed": wakeAtTheEnd,
    ]

    /// Expects `change` to ring for `jobs` in `listener`.
    private static func rings(_ listener: any MessageStore, _ change: () async throws -> Void) async throws {
        let token = listener.changes.token(for: .jobs)
        try await change()
        try await listener.changes.wait(for: .jobs, after: token)
    }

    static func ringForAll(_ bench: Bench) async throws {
        let stores = [try await bench.open(.steady()), try await bench.open(), try await bench.open()]
        for producer in stores {
            for listener in stores {
                try await rings(listener) { try await producer.put("it") }
            }
        }
        #expect(try await stores[0].depths() == .of(ready: 9))
    }

    static func ringForArrivals(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        for listener in [store, other] {
            try await rings(listener) { try await store.put("ready") }
            // A worker that sleeps until the next due time must hear of an earlier one.
            try await rings(listener) { try await store.put(.text("scheduled", due: .after(.seconds(60)))) }
            try await rings(listener) { _ = try await store.apply(.redrive, to: .queue(.jobs, states: [.scheduled])) }
            try await store.work(.dead(error: "bad"))
            try await rings(listener) { _ = try await store.apply(.redrive, to: .queue(.jobs, states: [.dead])) }
            try await rings(listener) { try await store.put(.text("it", key: "k", onConflict: .replace)) }
        }
    }

    static func ringForReturns(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady(attemptsMax: 99))
        let verdicts: [Verdict] = [.release, .retry(error: "e", after: .zero), .retry(error: "e")]
        for listener in [store, other] {
            for verdict in verdicts {
                let message = try await store.putAndTake("it")
                try await rings(listener) { _ = try await store.give(verdict, for: message) }
            }
            try await store.put("it")
            let doomed = try await bench.open()
            _ = try await doomed.takeOne()
            try await bench.crash(doomed)
            try await rings(listener) { _ = try await store.reclaim() }
            _ = try await store.takeOne(lease: .seconds(1))
            bench.time.advance(by: .seconds(1))
            try await rings(listener) { _ = try await store.reclaim() }
        }
    }

    static func ringForRoom(_ bench: Bench) async throws {
        for policy in [OverflowPolicy.wait, .fail] {
            let store = try await bench.open(.steady(3, policy))
            try await store.configure(.jobs, .set(.steady(3, policy)))
            let producer = try await bench.open()
            for listener in [producer, store] {
                try await store.put((1...3).map { .text("\($0)") })
                try await rings(listener) { _ = try await store.takeOne() }
                try await rings(listener) { _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.ready])) }
                try await store.put(.text("later", due: .after(.seconds(60))))
                try await rings(listener) {
                    _ = try await store.apply(.cancel, to: .queue(.jobs, states: [.scheduled]))
                }
            }
            try await store.configure(.jobs, .delete(force: true))
        }
    }

    static func ringForQueues(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady(1, .wait))
        for listener in [store, other] {
            try await store.configure(.jobs, .create(.steady(1, .wait), ifAbsent: true))
            try await store.put([.text("it")])
            try await rings(listener) { try await store.configure(.jobs, .set(.steady(2, .wait))) }
            try await store.configure(.jobs, .pause)
            try await rings(listener) { try await store.configure(.jobs, .resume) }
            try await rings(listener) { try await store.configure(.jobs, .delete(force: true)) }
        }
    }

    static func loseNoRing(_ bench: Bench) async throws {
        let (producer, worker) = try await bench.openTwo(.steady())
        let count = 200
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for index in 1...count { try await producer.put("\(index)") }
            }
            group.addTask {
                // A worker's loop: the token first, then the look, and only then the wait.
                var done = 0
                while done < count {
                    let token = worker.changes.token(for: .jobs)
                    let messages = try await worker.take(10)
                    done += messages.count
                    if messages.isEmpty { try await worker.changes.wait(for: .jobs, after: token) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await worker.depths() == .of(leased: count))
    }

    static func wakeAtTheEnd(_ bench: Bench) async throws {
        let store = try await bench.open(.steady())
        let changes = store.changes
        // News of what was done before may come late: the task looks then, and waits again.
        @Sendable func waitForTheEnd() async throws {
            while true {
                let token = changes.token(for: .jobs)
                do {
                    _ = try await store.status(of: nil)
                } catch let error as PenstockError where error.code == .closed {
                    return
                }
                try await changes.wait(for: .jobs, after: token)
            }
        }
        async let end: Void = waitForTheEnd()
        try await changes.waitForWaiters()
        try await store.close()
        try await end
        await expect(.closed) { try await store.status(of: nil) }
    }

    static func wakeWaiters(_ bench: Bench) async throws {
        let (store, other) = try await bench.openTwo(.steady())
        for listener in [store, other] {
            let token = listener.changes.token(for: .jobs)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...3 {
                    group.addTask { try await listener.changes.wait(for: .jobs, after: token) }
                }
                try await store.put("it")
                try await group.waitForAll()
            }
        }
    }
}
