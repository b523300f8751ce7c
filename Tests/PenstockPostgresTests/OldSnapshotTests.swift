import PenstockCore
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// What a transaction that somebody has left open costs: the versions of rows that it may see stay, however many there come to be.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct OldSnapshotTests {
    private let url: String
    private let address: ServerAddress
    private let jobs: QueueName

    init() throws {
        url = try PostgresServer.newURL()
        address = try ServerAddress(url)
        jobs = try QueueName("jobs")
    }

    private func live(_ count: Int, _ store: PostgresStore, group: String? = nil) async throws {
        for _ in 0..<count {
            _ = try await store.enqueue([NewMessage(payload: [1], group: group)], to: jobs, durability: .processCrash)
            let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
            _ = try await store.settle(claim.messages.map { Settlement($0.lease, .done) })
        }
    }

    @Test(arguments: [QueuePolicy(), QueuePolicy(isFair: true), QueuePolicy(limit: 1)])
    func isNotGoneThroughByWhoEnqueuesClaimsAndSettles(_ policy: QueuePolicy) async throws {
        let group = policy.isFair ? "group" : nil
        let store = try await PostgresStore.open(url: url)
        try await store.configure(jobs, .create(policy, ifAbsent: true))
        let holder = try Sessions.connect(to: address, busyMax: .seconds(60))
        try holder.run("SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        let server = try Sessions.connect(to: address, busyMax: .seconds(60))
        try await live(400, store, group: group)
        try await store.close()
        let before = try await entriesRead(server, address)
        let heir = try await PostgresStore.open(url: url)
        try await live(20, heir, group: group)
        try await heir.close()
        let read = try await entriesRead(server, address) - before
        // The first claim of a process looks at the whole line. If each went past all that is gone, it were more than ten times as much.
        #expect(read < 5 * 400, "\(read) entries")
        try holder.run("COMMIT")
    }

    /// Messages that were due are behind a claim that has put them in line.
    @Test func isNotGoneThroughForWhatIsDue() async throws {
        let time = ManualTime()
        let later = NewMessage(payload: [1], due: .after(.seconds(2)))
        func live(_ count: Int, _ store: PostgresStore) async throws {
            for _ in 0..<count {
                _ = try await store.enqueue([later], to: jobs, durability: .processCrash)
                time.advance(by: .seconds(2))
                let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
                #expect(claim.messages.count == 1)
                _ = try await store.settle(claim.messages.map { Settlement($0.lease, .done) })
            }
        }
        let store = try await PostgresStore.open(url: url, options: .init(time: time))
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        let holder = try Sessions.connect(to: address, busyMax: .seconds(60))
        try holder.run("SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        let server = try Sessions.connect(to: address, busyMax: .seconds(60))
        try await live(400, store)
        try await store.close()
        let before = try await entriesRead(server, address, of: ["penstock_scheduled"])
        let heir = try await PostgresStore.open(url: url, options: .init(time: time))
        try await live(20, heir)
        try await heir.close()
        let read = try await entriesRead(server, address, of: ["penstock_scheduled"]) - before
        // The first claim of a process looks from the first one on, and does so up to four times.
        #expect(read < 10 * 400, "\(read) entries")
        try holder.run("COMMIT")
    }

    /// What expires first is looked for from the first one on, but once for a claim.
    @Test func isGoneThroughOnceByAClaimForWhatExpires() async throws {
        let message = NewMessage(payload: [1], expiry: .after(.seconds(3600)))
        func live(_ count: Int, _ store: PostgresStore) async throws {
            for _ in 0..<count {
                _ = try await store.enqueue([message], to: jobs, durability: .processCrash)
                // With a step before it a claim begins its transaction without a look.
                let performed = try await store.perform([
                    .settle([]), .claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30))),
                ])
                guard case .claimed(let claim) = performed.answers.last else { return }
                _ = try await store.settle(claim.messages.map { Settlement($0.lease, .done) })
            }
        }
        let store = try await PostgresStore.open(url: url)
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        let holder = try Sessions.connect(to: address, busyMax: .seconds(60))
        try holder.run("SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        let server = try Sessions.connect(to: address, busyMax: .seconds(60))
        try await live(400, store)
        try await store.close()
        let before = try await entriesRead(server, address, of: ["penstock_expiry"])
        let heir = try await PostgresStore.open(url: url)
        try await live(20, heir)
        try await heir.close()
        let read = try await entriesRead(server, address, of: ["penstock_expiry"]) - before
        // Each claim goes past all that are gone, and none does so twice.
        #expect(read < 30 * 400, "\(read) entries")
        try holder.run("COMMIT")
    }

    /// A look for what is due begins where the last claim has found nothing, unless the clock was set back, or a hand was there.
    @Test(arguments: [1, 2])
    func hidesNoMessageThatIsDue(_ processCount: Int) async throws {
        let time = ManualTime()
        let first = try await PostgresStore.open(url: url, options: .init(time: time))
        let second = processCount == 1 ? first : try await PostgresStore.open(url: url, options: .init(time: time))
        try await first.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        func enqueue(_ text: String, after delay: Duration) async throws {
            let message = NewMessage(payload: Array(text.utf8), due: .after(delay))
            _ = try await second.enqueue([message], to: jobs, durability: .processCrash)
        }
        func claimed() async throws -> [String] {
            let claim = try await first.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(3600)))
            return claim.messages.map { String(decoding: $0.payload, as: UTF8.self) }
        }
        // The first claim of a process looks from the first one on.
        #expect(try await claimed() == [])
        try await enqueue("a", after: .seconds(10))
        time.advance(by: .seconds(10))
        #expect(try await claimed() == ["a"])
        try await enqueue("b", after: .milliseconds(1))
        #expect(try await claimed() == [])
        time.advance(by: .milliseconds(1))
        #expect(try await claimed() == ["b"])
        time.set(wall: time.now - .seconds(5))
        try await enqueue("c", after: .seconds(1))
        time.advance(by: .seconds(1))
        #expect(try await claimed() == ["c"])
        time.advance(by: .seconds(60))
        try await enqueue("d", after: .seconds(60))
        #expect(try await claimed() == [])
        try Sessions.connect(to: address, busyMax: .seconds(60)).run("UPDATE penstock_scheduled SET due_at = 0")
        #expect(try await claimed() == ["d"])
        try await first.close()
        if processCount == 2 { try await second.close() }
    }

    /// A claim begins where the last one ended, unless something became ready before that.
    @Test(arguments: [1, 2])
    func hidesNoMessageThatComesBeforeOthers(_ processCount: Int) async throws {
        let first = try await PostgresStore.open(url: url)
        let second = processCount == 1 ? first : try await PostgresStore.open(url: url)
        try await first.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        let server = try Sessions.connect(to: address, busyMax: .seconds(60))
        func claimed() async throws -> [String] {
            let claim = try await first.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
            return claim.messages.map { String(decoding: $0.payload, as: UTF8.self) }
        }
        for text in ["a", "b", "c", "d"] {
            _ = try await second.enqueue([NewMessage(payload: Array(text.utf8))], to: jobs, durability: .processCrash)
        }
        let claim = try await second.claim(ClaimRequest(queue: jobs, limit: 2, lease: .seconds(30)))
        #expect(claim.messages.count == 2)
        #expect(try await claimed() == ["c"])
        // One is given back, one comes by SQL with a priority, and one is put in line by hand.
        _ = try await second.settle([Settlement(claim.messages[0].lease, .release)])
        try server.run("INSERT INTO penstock_messages (queue, payload, priority) VALUES ('jobs', 'urgent', 5)")
        #expect(try await claimed() == ["urgent"])
        #expect(try await claimed() == ["a"])
        try server.run(
            """
            BEGIN; SELECT penstock_write_lock();
            DELETE FROM penstock_lease WHERE sequence = 2;
            INSERT INTO penstock_ready (queue_id, priority, turn, sequence, attempt, forgiven, marks)
                SELECT queue_id, 0, 0, 2, 0, 0, 0 FROM penstock_log WHERE sequence = 2;
            COMMIT
            """)
        #expect(try await claimed() == ["b"])
        #expect(try await claimed() == ["d"])
        try await first.close()
        if processCount == 2 { try await second.close() }
    }

    /// A hand, or a mistake, may have written another one.
    @Test func aWrongPlaceHidesNothing() async throws {
        let store = try await PostgresStore.open(url: url)
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        for text in ["a", "b"] {
            _ = try await store.enqueue([NewMessage(payload: Array(text.utf8))], to: jobs, durability: .processCrash)
        }
        func claimed() async throws -> [String] {
            let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
            return claim.messages.map { String(decoding: $0.payload, as: UTF8.self) }
        }
        // The first one of a process looks at the whole line.
        #expect(try await claimed() == ["a"])
        try Sessions.connect(to: address, busyMax: .seconds(60)).run(
            "UPDATE penstock_depth SET from_priority = -100, from_turn = 0, from_sequence = 1000000")
        #expect(try await claimed() == ["b"])
        try await store.close()
    }
}
