import PenstockCore
import PenstockTestKit
import Testing

@Suite(.timeLimit(.minutes(5))) struct WakeupsTests {
    private let bell = Wakeups()
    private let jobs = QueueName(stored: "jobs")
    private let mail = QueueName(stored: "mail")

    @Test func aRingBetweenTokenAndWaitIsNotLost() async throws {
        for queue in [jobs, nil] {
            let token = bell.token(for: jobs)
            bell.ring(queue)
            try await bell.wait(for: jobs, after: token)
            try await bell.wait(for: jobs, after: token)
        }
    }

    @Test func newsBetweenTokenAndWaitIsNotLost() async throws {
        let token = bell.token(for: jobs)
        bell.ringForNews()
        try #require(bell.token(for: jobs) != token)
        try await bell.wait(for: jobs, after: token)
        try await bell.waitForRoomOrWork(in: jobs, after: token)
        let work = try #require(bell.callForWork(in: jobs, after: token, room: 1) {}, "There is nothing to claim.")
        bell.cancel(work)
    }

    @Test func aRingBeforeTheTokenDoesNotCount() async throws {
        bell.ring(jobs)
        bell.ring(nil)
        let token = bell.token(for: jobs)
        async let wait: Void = bell.wait(for: jobs, after: token)
        try await bell.waitForWaiters(count: 1)
        bell.ring(jobs)
        try await wait
    }

    @Test func aRingWakesWhoWaitsForThatQueueOnly() async throws {
        let jobsToken = bell.token(for: jobs)
        let mailToken = bell.token(for: mail)
        async let forJobs: Void = bell.wait(for: jobs, after: jobsToken)
        async let forJobsToo: Void = bell.wait(for: jobs, after: jobsToken)
        async let forMail: Void = bell.wait(for: mail, after: mailToken)
        try await bell.waitForWaiters(count: 3)
        bell.ring(jobs)
        try await forJobs
        try await forJobsToo
        #expect(bell.waiterCount == 1)
        bell.ring(nil)
        try await forMail
        #expect(bell.waiterCount == 0)
    }

    @Test func aCancelledWaiterThrowsAndIsForgotten() async throws {
        let token = bell.token(for: jobs)
        let waiter = Task { try await bell.wait(for: jobs, after: token) }
        try await bell.waitForWaiters(count: 1)
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        #expect(bell.waiterCount == 0)

        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await bell.wait(for: jobs, after: token)
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        #expect(bell.waiterCount == 0)
    }

    @Test func aWaiterIsItselfASignal() async throws {
        let token = bell.token(for: jobs)
        async let watched: Void = bell.waitForWaiters(count: 2)
        async let first: Void = bell.wait(for: jobs, after: token)
        async let second: Void = bell.wait(for: jobs, after: token)
        try await watched
        #expect(bell.waiterCount == 2)
        bell.ring(nil)
        _ = try await (first, second)

        let watcher = Task { try await bell.waitForWaiters() }
        watcher.cancel()
        await #expect(throws: CancellationError.self) { try await watcher.value }
    }

    @Test func manyRingsAndWaitersLoseNothing() async throws {
        let tally = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...8 {
                group.addTask {
                    var seen = 0
                    while seen < 500 {
                        let token = bell.token(for: jobs)
                        seen = tally.count
                        if seen < 500 { try await bell.wait(for: jobs, after: token) }
                    }
                }
            }
            group.addTask {
                for _ in 1...500 {
                    tally.add()
                    bell.ring(jobs)
                }
            }
            try await group.waitForAll()
        }
        #expect(bell.waiterCount == 0)
    }

    @Test func whoHasRoomForMoreIsWokenForMore() async throws {
        let bucket = RingBucket.of(jobs)
        let token = bell.token(for: jobs)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, room) in [3, 1, 5, 1].enumerated() {
                group.addTask { try await bell.waitForWork(in: jobs, after: token, room: room) }
                try await bell.waitForWaiters(count: index + 1)
            }
            bell.ring(at: bucket) { room in
                #expect(room == 10)
                return 0
            }
            #expect(bell.waiterCount == 4)
            bell.ring(at: bucket) { _ in 3 }
            #expect(bell.waiterCount == 3)
            bell.ring(at: bucket) { room in
                #expect(room == 7)
                return 2
            }
            #expect(bell.waiterCount == 1, "The second has room for one of the two only.")
            #expect(bell.ringAll(at: bucket) == 1)
            try await group.waitForAll()
        }
    }

    /// Whatever somebody far away says of its room, others go on.
    @Test func roomWithoutEndIsNoHarm() async throws {
        let queue = QueueName(stored: "q")
        let wakeups = Wakeups()
        let bucket = RingBucket.of(queue)
        for ring in [{ _ = wakeups.ringAll(at: bucket) }, { wakeups.ring(at: bucket) { $0 } }] {
            let token = wakeups.token(for: queue)
            let tally = Tally()
            for _ in 1...3 {
                _ = wakeups.callForWork(in: queue, after: token, room: .max) { tally.add() }
            }
            #expect(wakeups.room(at: bucket) == 3 * Limits.batchCountMax)
            ring()
            #expect(tally.count == 3)
        }
    }

    @Test func whoIsCalledForWorkIsCalledOnceAndCanCancel() async throws {
        let bucket = RingBucket.of(jobs)
        let called = Tally()
        let token = bell.token(for: jobs)
        let call = bell.callForWork(in: jobs, after: token, room: 3) { called.add() }
        #expect(call != nil)
        #expect(bell.waiterCount == 1)
        bell.ring(at: bucket) { room in
            #expect(room == 3)
            return 1
        }
        #expect((called.count, bell.waiterCount) == (1, 0))
        call.map(bell.cancel)
        bell.ring(jobs)
        #expect(called.count == 1)
        #expect(bell.callForWork(in: jobs, after: token, room: 1) { called.add() } == nil)
        #expect(called.count == 2, "It was rung for since that token.")
        bell.callForWork(in: jobs, after: bell.token(for: jobs), room: 1) { called.add() }.map(bell.cancel)
        bell.ring(jobs)
        #expect((called.count, bell.waiterCount) == (2, 0))
    }

    @Test func itIsSaidOnceThatSomebodyWaitsForNews() async throws {
        let said = Tally()
        let bell = Wakeups { said.add() }
        let token = bell.token(for: jobs)
        bell.ring(jobs)
        try await bell.waitForWork(in: jobs, after: token)
        #expect(said.count == 0)
        for _ in 1...2 { try await bell.wait(for: jobs, after: token) }
        #expect(said.count == 1)
    }

    @Test func aRingForSomeWakesTheFirstWorkersAndAllWhoWantNews() async throws {
        let bucket = RingBucket.of(jobs)
        let token = bell.token(for: jobs)
        let woken = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for count in 1...5 {
                group.addTask {
                    try await bell.waitForWork(in: jobs, after: token)
                    woken.add()
                }
                try await bell.waitForWaiters(count: count)
            }
            async let news: Void = bell.wait(for: jobs, after: token)
            try await bell.waitForWaiters(count: 6)
            bell.ring(at: bucket) { waiting in
                #expect(waiting == 5)
                return 2
            }
            try await news
            #expect(bell.waiterCount == 3)
            // A waiter that has the token and does not wait yet looks again.
            try await bell.waitForWork(in: jobs, after: token)
            bell.ringForNews()
            #expect(bell.waiterCount == 3)
            #expect(bell.ringAll(at: bucket) == 3)
            try await group.waitForAll()
        }
        #expect(woken.count == 5)
        #expect(bell.waiterCount == 0)
    }

    /// The hash is in files that several versions of the program may share.
    @Test func bucketsAreTheSameEverywhere() {
        #expect(RingBucket.of(jobs) == 515)
        #expect(RingBucket.of(mail) == 908)
    }
}
