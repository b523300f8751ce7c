import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Long calls go in steps, and all other writers wait for one.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct StepTests {
    /// The server is asked several times for each message, however far away it is.
    @Test func aStepEndsWhenItHasLastedLong() async throws {
        let steps = Tally()
        var options = PostgresStore.Options(time: TickingTime())
        options.afterStep = { steps.add() }
        let store = try await PostgresStore.open(url: PostgresServer.newURL(), options: options)
        let jobs = try QueueName("jobs")
        try await store.configure(jobs, .create(QueuePolicy(groups: .limit(1)), ifAbsent: true))
        let later = NewMessage(payload: [1], due: .after(.seconds(86_400)))
        let ofGroup = NewMessage(payload: [2], group: "a")
        for message in [later, ofGroup] {
            _ = try await store.enqueue(
                [NewMessage](repeating: message, count: 12), to: jobs, durability: .processCrash)
        }
        #expect(try await store.apply(.redrive, to: .queue(jobs, states: [.scheduled])) == 12)
        #expect(steps.count >= 3, "Each looks at the clock before each message.")
        for (groups, ready) in [(GroupPolicy?.none, 24), (.fifo(), 13)] {
            let before = steps.count
            try await store.configure(jobs, .set(QueuePolicy(groups: groups)))
            #expect(steps.count >= before + 3)
            #expect(try await store.status(of: jobs).queues.first?.depths.ready == ready)
        }
        try await store.close()
    }

    /// What a claim ends, makes ready and fires is as much of each as there is time for. The next claim goes on at once.
    @Test func aClaimFinishesWhatIsDueInSteps() async throws {
        let time = TickingTime()
        let store = try await PostgresStore.open(url: PostgresServer.newURL(), options: .init(time: time))
        let kinds: [(name: String, message: NewMessage?, isLeft: (QueueStatus) -> Bool)] = [
            ("expiring", NewMessage(payload: [1], expiry: .after(.seconds(1800))), { $0.depths.ready > 0 }),
            ("later", NewMessage(payload: [2], due: .after(.seconds(1800))), { $0.depths.scheduled > 0 }),
            ("fired", nil, { $0.totals.enqueued < 12 }),
        ]
        for (name, message, _) in kinds {
            let queue = try QueueName(name)
            try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
            for number in 1...12 {
                if let message {
                    _ = try await store.enqueue([message], to: queue, durability: .processCrash)
                } else {
                    let schedule = Schedule(queue: queue, spec: "@hourly", message: NewMessage(payload: [3]))
                    try await store.schedule(ScheduleName("\(number)"), .put(schedule, replacing: false))
                }
            }
        }
        time.advance(by: .seconds(3600))
        for (name, _, isLeft) in kinds {
            let queue = try QueueName(name)
            var (claimCount, goesOn) = (0, true)
            while goesOn, claimCount < 20 {
                let claim = try await store.claim(ClaimRequest(queue: queue, limit: 12, lease: .seconds(3600)))
                claimCount += 1
                goesOn = isLeft(try #require(try await store.status(of: queue).queues.first))
                if goesOn { #expect(try #require(claim.nextDue) <= time.now) }
            }
            #expect((3...12).contains(claimCount), "\(claimCount) claims from the queue '\(name)'")
        }
        try await store.close()
    }

    /// What is left is written down, and each claim of the store goes on with it: it may not take longer than claims wait.
    @Test func whatFollowsFromTheEndOfATaskGoesInSteps() async throws {
        let steps = Tally()
        var options = PostgresStore.Options(time: TickingTime())
        options.afterStep = { steps.add() }
        let store = try await PostgresStore.open(url: PostgresServer.newURL(), options: options)
        let jobs = try QueueName("jobs")
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        let message = NewMessage(payload: [1])
        let first = try NewTask(TaskName("first"), queue: jobs, message: message)
        let others = try (1...12).map { number in
            try NewTask(
                TaskName("\(number)"), queue: jobs, message: message, dependencies: [Dependency(on: first.name)])
        }
        for isWhole in [false, true] {
            let before = steps.count
            let started = try await store.start(NewWorkflow(tasks: [first] + others), durability: .processCrash)
            if isWhole {
                #expect(try await store.cancel(started.name) == 13)
            } else {
                let sequence = try #require(started.receipts.first).sequence
                #expect(try await store.apply(.cancel, to: .sequences([sequence])) == 1)
            }
            #expect(steps.count >= before + 3)
            let depths = try #require(try await store.status(of: jobs).queues.first).depths
            #expect(depths.pending == 0 && depths.ready == 0)
        }
        try await store.close()
    }

    /// Those that wait for several tasks which are done with one call are no fewer for that.
    @Test func whatFollowsFromTheEndsOfSeveralTasksGoesInSteps() async throws {
        let store = try await PostgresStore.open(url: PostgresServer.newURL(), options: .init(time: TickingTime()))
        let jobs = try QueueName("jobs")
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        let message = NewMessage(payload: [1])
        let firsts = try (1...8).map { try NewTask(TaskName("first\($0)"), queue: jobs, message: message) }
        let others = try firsts.flatMap { first in
            try (1...30).map { number in
                try NewTask(
                    TaskName("\(first.name)-\(number)"), queue: jobs, message: message,
                    dependencies: [Dependency(on: first.name)])
            }
        }
        _ = try await store.start(NewWorkflow(tasks: firsts + others), durability: .processCrash)
        func pending() async throws -> Int {
            try #require(try await store.status(of: jobs).queues.first).depths.pending
        }
        let request = ClaimRequest(queue: jobs, limit: 8, lease: .seconds(3600))
        let claimed = try await store.claim(request).messages
        #expect(claimed.count == 8)
        _ = try await store.settle(claimed.map { Settlement($0.lease, .done) })
        let left = try await pending()
        #expect((1..<240).contains(left), "\(left) are told later.")
        // Each claim goes on with at least one of the tasks.
        for _ in 1...8 { _ = try await store.claim(request) }
        #expect(try await pending() == 0)
        try await store.close()
    }

    /// By its statistics the server takes the way through the whole log for the better one, where messages are not tiny.
    @Test func whatIsOfOneQueueGoesPastNoMessagesOfOthers() async throws {
        let url = try PostgresServer.newURL()
        let address = try ServerAddress(url)
        let store = try await PostgresStore.open(url: url)
        let queues = try (1...3).map { try QueueName("queue \($0)") }
        let message = NewMessage(payload: [UInt8](repeating: 7, count: 1500))
        for queue in queues {
            try await store.configure(queue, .create(QueuePolicy(), ifAbsent: false))
            for _ in 1...12 {
                let messages = [NewMessage](repeating: message, count: 500)
                _ = try await store.enqueue(messages, to: queue, durability: .processCrash)
            }
        }
        try await store.close()
        let server = try Sessions.connect(to: address, busyMax: .seconds(60))
        /// The entries that `body` goes through in the log's indexes.
        func read(_ body: (PostgresStore) async throws -> Void) async throws -> Int {
            let before = try await entriesRead(server, address, of: ["penstock_log"])
            let store = try await PostgresStore.open(url: url)
            try await body(store)
            try await store.close()
            return try await entriesRead(server, address, of: ["penstock_log"]) - before
        }

        let (first, last) = (queues[0], queues[2])
        // As the server does by itself. While somebody has a transaction open it does no more than the first: an index alone does not say then
        // what is there, and costs the planner as much as the log.
        for upkeep in ["ANALYZE", "VACUUM ANALYZE"] {
            try server.run("\(upkeep) penstock_log")
            // 12,000 messages of others come before these, or behind them.
            for (queue, start) in [(last, LogQuery.Start.after(SequenceNumber(0))), (first, .last(5))] {
                let page = try await read { store in
                    let records = try await store.log(LogQuery(queue: queue, start, limit: 5)).records
                    #expect(records.count == 5)
                }
                #expect(page < 6000, "\(page) entries after \(upkeep), from \(start)")
            }
            for (queue, end) in [(last, MessageQuery.End.first), (first, .last)] {
                let list = try await read { store in
                    let query = MessageQuery(queue: queue, since: Timestamp(microseconds: 1), end: end, limit: 5)
                    let records = try await store.messages(query).records
                    #expect(records.count == 5)
                }
                #expect(list < 6000, "\(list) entries after \(upkeep), from the \(end)")
            }
        }
        let lastGone = try await read { try await $0.configure(last, .delete(force: true)) }
        let firstGone = try await read { try await $0.configure(first, .delete(force: true)) }
        // In six steps each. If it went past those of others in each, it were more than three times as much.
        #expect(lastGone < 2 * firstGone, "\(lastGone) and \(firstGone) entries")
    }
}

/// Clocks that go on by a tenth of a second whenever the boot clock is looked at.
private struct TickingTime: TimeSource {
    private let time = ManualTime()

    var now: Timestamp { time.now }
    var boot: BootTime {
        time.advance(by: .milliseconds(100))
        return time.boot
    }

    func advance(by duration: Duration) { time.advance(by: duration) }

    func sleep(until deadline: Timestamp) async throws { try await time.sleep(until: deadline) }
    func sleep(for duration: Duration) async throws { try await time.sleep(for: duration) }
}
