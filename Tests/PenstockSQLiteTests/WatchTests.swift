import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// Which waiters are woken, by what, and that none is forgotten.
@Suite(.timeLimit(.minutes(5))) struct WatchTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    /// Eight processes wait, each with one worker and somebody who follows the log.
    @Test(arguments: [0, 1, 3, 8, 20]) func aRingWakesAsManyWorkersAsThereAreMessages(messages: Int) async throws {
        let bucket = RingBucket.of(.jobs)
        let ears = try (1...8).map { _ in try Ear(path) }
        let bell = try Doorbell(SharedFolder(besideDatabaseAt: path))
        let woken = Tally()
        let news = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for wakeups in ears.map(\.wakeups) {
                let token = wakeups.token(for: .jobs)
                group.addTask {
                    try await wakeups.waitForWork(in: .jobs, after: token)
                    woken.add()
                }
                group.addTask {
                    try await wakeups.wait(for: .jobs, after: token)
                    news.add()
                }
                try await wakeups.waitForWaiters(count: 2)
            }
            bell.ring([(bucket, Ring(messages: messages))])
            for ear in ears { ear.watch.hear() }
            // Those for whom there was nothing sleep on.
            #expect(ears.count { $0.wakeups.waiterCount == 1 } == max(0, 8 - messages))
            #expect(ears.allSatisfy { $0.wakeups.waiterCount <= 1 })
            for ear in ears { ear.wakeups.ring(nil) }
            try await group.waitForAll()
        }
        #expect((woken.count, news.count) == (8, 8))
    }

    @Test func aRingForOneQueueWakesNobodyOfAnother() async throws {
        let ear = try Ear(path)
        let bell = try Doorbell(SharedFolder(besideDatabaseAt: path))
        let (jobs, mail) = (ear.wakeups.token(for: .jobs), ear.wakeups.token(for: .mail))
        bell.ring([(RingBucket.of(.jobs), Ring(messages: 1))])
        ear.watch.hear()
        #expect(ear.wakeups.token(for: .jobs) != jobs)
        #expect(ear.wakeups.token(for: .mail) == mail)
    }

    /// What was announced and is gone wakes nobody any more; what was announced since does.
    @Test func whoFindsNothingLeftSaysSo() throws {
        let ear = try Ear(path)
        let bell = try Doorbell(SharedFolder(besideDatabaseAt: path))
        let bucket = RingBucket.of(.jobs)
        bell.ring([(bucket, Ring(messages: 5))])
        let before = ear.doorbell.board.word(at: bucket)
        ear.doorbell.board.clear(bucket, ifStill: before)
        #expect(ear.doorbell.board.take(9, at: bucket) == 0)
        bell.ring([(bucket, Ring(messages: 5))])
        ear.doorbell.board.clear(bucket, ifStill: before)
        #expect(ear.doorbell.board.take(9, at: bucket) == 5)
        bell.ring([(bucket, Ring(messages: .max))])
        bell.ring([(bucket, Ring(messages: 1))])
        #expect(ear.doorbell.board.word(at: bucket).messages == .max)
    }

    @Test func nobodyRingsForNobody() throws {
        let alone = try Doorbell(SharedFolder(besideDatabaseAt: path))
        alone.board.listen()
        alone.ring([(3, Ring(messages: 1))])
        #expect(alone.board.word(at: 3).rings == 0)
        let other = try Doorbell(SharedFolder(besideDatabaseAt: path))
        other.ring([(3, Ring(messages: 1))])
        #expect(alone.board.word(at: 3).rings == 1)
        alone.ring([(3, Ring(messages: 1))])
        #expect(alone.board.word(at: 3).rings == 1, "The other one does not listen.")
    }

    /// Eight stores wait for one message at a time. Each message costs the look that takes it and the one that finds no
    /// other, and not eight.
    @Test func eightThatWaitDoNotAllLookForOneMessage() async throws {
        let producer = try await SQLiteStore.openWithJobs(path)
        let rounds = 500
        let looks = Tally()
        let taken = Taken()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...8 {
                let store = try await SQLiteStore.open(path: path)
                group.addTask {
                    while true {
                        let token = store.changes.token(for: .jobs)
                        looks.add()
                        if let message = try await store.take(1).first {
                            _ = try await store.settle([Settlement(message.lease, .done)])
                            taken.add()
                        } else if taken.count == rounds {
                            break
                        } else {
                            try await store.changes.waitForWork(in: .jobs, after: token)
                        }
                    }
                    try await store.close()
                }
            }
            for number in 1...rounds {
                try await producer.put(.text("\(number)"))
                await taken.wait(for: number)
            }
            // A ring of a queue's own is for everybody.
            try await producer.configure(.jobs, .resume)
            try await group.waitForAll()
        }
        #expect(looks.count < rounds * 4, "\(looks.count) looks for \(rounds) messages")
        try await producer.close()
    }

    @Test(arguments: ["", ", due_at"]) func aPlainInsertWakesWhoWaits(due: String) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let changes = store.changes
        for wantsWork in [false, true] {
            let token = changes.token(for: .jobs)
            let count = try await store.texts().count
            // News of what was committed before may come late. The task that is woken looks then, and waits again.
            @Sendable func follow() async throws {
                var token = token
                while try await store.texts().count == count {
                    if wantsWork {
                        try await changes.waitForWork(in: .jobs, after: token)
                    } else {
                        try await changes.wait(for: .jobs, after: token)
                    }
                    token = changes.token(for: .jobs)
                }
            }
            async let woken: Void = follow()
            try await changes.waitForWaiters()
            let other = try DatabaseQueue(path: path)
            try await other.write { database in
                try database.execute(
                    sql: "INSERT INTO penstock_messages (queue, payload\(due)) VALUES ('jobs', 'x'"
                        + (due.isEmpty ? ")" : ", (strftime('%s', 'now') + 1000) * 1000000)"))
            }
            try other.close()
            try await woken
        }
        #expect(store.lookInterval > .seconds(1), "Waiters need not look by themselves.")
        try await store.close()
        #expect(store.lookInterval < .seconds(1))
    }

    /// A store that holds the only message, and another one.
    private func victimAndHeir() async throws -> (SQLiteStore, SQLiteStore) {
        let victim = try await SQLiteStore.openWithJobs(path)
        try await victim.put(.text("it"))
        #expect(try await victim.take().count == 1)
        return (victim, try await SQLiteStore.open(path: path))
    }

    @Test func theDeathOfAWorkerWakesWhoWaits() async throws {
        let (victim, heir) = try await victimAndHeir()
        var token = heir.changes.token(for: .jobs)
        async let died: Void = victim.crash()
        while try await heir.reclaim() == Reclaimed() {
            try await heir.changes.waitForWork(in: .jobs, after: token)
            token = heir.changes.token(for: .jobs)
        }
        await died
        #expect(try await heir.take().count == 1)
        try await heir.close()
    }

    /// A worker that has just looked for lost work does not look again at once. It is rung for until it does, at a short
    /// distance and not at the end of a rest; and no more when the work is taken back.
    @Test func theDeathOfAWorkerIsToldMoreThanOnce() async throws {
        let (victim, heir) = try await victimAndHeir()
        let ear = try Ear(path)
        let wakeups = ear.wakeups
        /// Looks while a worker waits. Returns whether the look rang for it.
        func isRungFor() async throws -> Bool {
            let token = wakeups.token(for: .jobs)
            let waiter = Task { try await wakeups.waitForWork(in: .jobs, after: token) }
            try await wakeups.waitForWaiters()
            ear.watch.look()
            let isRung = wakeups.token(for: .jobs) != token
            waiter.cancel()
            _ = await waiter.result
            return isRung
        }
        // Until it has seen all that was committed.
        try await eventually { try await !isRungFor() }
        await victim.crash()
        ear.watch.suspect()
        // At least so often, whatever is committed meanwhile.
        for _ in 1...5 {
            #expect(try await isRungFor())
            #expect(ear.watch.untilLook <= ChangeWatcher.pace)
        }
        #expect(try await heir.reclaim() == Reclaimed(fromDeadWorkers: 1))
        #expect(try await isRungFor(), "There is work, and that is news.")
        try await eventually { try await !isRungFor() }
        ear.watch.end()
        try await heir.close()
    }

    /// What is committed meanwhile does not cut short the time for which a loss is told.
    @Test func aLossIsToldForAsLongWhateverIsCommitted() async throws {
        let (victim, heir) = try await victimAndHeir()
        let ear = try Ear(path)
        let wakeups = ear.wakeups
        await victim.crash()
        ear.watch.suspect()
        // For two seconds, at its pace.
        for number in 0...7 {
            let token = wakeups.token(for: .mail)
            let waiter = Task { try await wakeups.waitForWork(in: .mail, after: token) }
            try await wakeups.waitForWaiters()
            ear.watch.look()
            try await waiter.value
            #expect(ear.watch.untilLook <= ChangeWatcher.pace)
            if number == 0 { try await heir.configure(.mail, .create(QueuePolicy(), ifAbsent: false)) }
        }
        ear.watch.end()
        try await heir.close()
    }

    @Test func theEndOfALeaseWakesWhoWaits() async throws {
        let time = ManualTime()
        var options = SQLiteStore.Options()
        options.time = time
        let slow = try await SQLiteStore.open(path: path, options: options)
        let other = try await SQLiteStore.open(path: path, options: options)
        try await slow.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        try await slow.put(.text("it"))
        #expect(try await slow.take().count == 1)
        let token = other.changes.token(for: .jobs)
        async let woken: Void = other.changes.waitForWork(in: .jobs, after: token)
        try await other.changes.waitForWaiters()
        time.advance(by: .seconds(3600))
        try await woken
        try await slow.close()
        try await other.close()
    }

    /// A thousand queues that nobody writes to: what happens in another one lets all of them sleep.
    @Test func aLookWakesOnlyWhoseQueueHasMessages() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let ear = try Ear(path)
        let wakeups = ear.wakeups
        let bucket = RingBucket.of(.jobs)
        let idle = (1...1000).map { QueueName(stored: "q\($0)") }.filter { RingBucket.of($0) != bucket }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for queue in idle {
                let token = wakeups.token(for: queue)
                group.addTask { try await wakeups.waitForWork(in: queue, after: token) }
            }
            let token = wakeups.token(for: .jobs)
            group.addTask { try await wakeups.waitForWork(in: .jobs, after: token) }
            try await wakeups.waitForWaiters(count: idle.count + 1)
            ear.watch.look()
            #expect(wakeups.waiterCount == idle.count + 1, "Nothing waits anywhere.")
            try await store.put(.text("it"))
            ear.watch.look()
            #expect(wakeups.waiterCount == idle.count)
            wakeups.ring(nil)
            try await group.waitForAll()
        }
        ear.watch.end()
        try await store.close()
    }
}
