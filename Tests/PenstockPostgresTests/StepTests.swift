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

    /// By its statistics the server takes the way through the whole log for as good as that through the index of the queue's messages.
    @Test func whatIsOfOneQueueGoesPastNoMessagesOfOthers() async throws {
        let url = try PostgresServer.newURL()
        let address = try ServerAddress(url)
        let store = try await PostgresStore.open(url: url)
        let queues = try (1...3).map { try QueueName("queue \($0)") }
        for queue in queues {
            try await store.configure(queue, .create(QueuePolicy(), ifAbsent: false))
            for _ in 1...3 {
                let messages = [NewMessage](repeating: NewMessage(payload: [1]), count: 2000)
                _ = try await store.enqueue(messages, to: queue, durability: .processCrash)
            }
        }
        try await store.close()
        let server = try Sessions.connect(to: address, busyMax: .seconds(60))
        try server.run("ANALYZE penstock_log")
        let before = try await entriesRead(server, address, of: ["penstock_log"])
        let heir = try await PostgresStore.open(url: url)
        #expect(try await heir.log(LogQuery(queue: queues[2], .after(SequenceNumber(0)), limit: 5)).records.count == 5)
        let late = MessageQuery(queue: queues[2], since: Timestamp(microseconds: 1), limit: 5)
        #expect(try await heir.messages(late).records.count == 5)
        try await heir.configure(queues[2], .delete(force: true))
        try await heir.close()
        let read = try await entriesRead(server, address, of: ["penstock_log"]) - before
        #expect(read < 30_000, "\(read) entries for 6,000 messages behind 12,000 others")
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

    func sleep(until deadline: Timestamp) async throws { try await time.sleep(until: deadline) }
    func sleep(for duration: Duration) async throws { try await time.sleep(for: duration) }
}
