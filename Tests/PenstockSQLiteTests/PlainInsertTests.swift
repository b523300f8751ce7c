import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// An INSERT by another program and an `enqueue` leave the same rows, whatever came before.
@Suite(.timeLimit(.minutes(5))) struct PlainInsertTests {
    /// Two stores that live the same life, but that one is fed by `enqueue` and the other by INSERT.
    private final class Twins {
        let folder = TemporaryFolder()
        let stores: [SQLiteStore]
        let programs: [ForeignProgram]
        private var held: [[ClaimedMessage]] = [[], []]

        init(_ policy: QueuePolicy) async throws {
            let paths = [folder.file("program.db"), folder.file("sql.db")]
            stores = [
                try await SQLiteStore.openWithJobs(paths[0], policy),
                try await SQLiteStore.openWithJobs(paths[1], policy),
            ]
            programs = try paths.map(ForeignProgram.init)
        }

        func close() async throws {
            for store in stores { try await store.close() }
        }

        func enqueue(_ message: NewMessage) async throws {
            let byProgram: String
            do {
                let receipts = try await stores[0].enqueue([message], to: .jobs, durability: .processCrash)
                byProgram = receipts.first.map { $0.skipped ? "taken" : "accepted" } ?? "full"
            } catch let error as PenstockError where error.code == .queueFull {
                byProgram = "full"
            }
            let bySQL: String
            do {
                try await Self.insert(message, programs[1])
                bySQL = "accepted"
            } catch let error as DatabaseError {
                switch error.message {
                case "penstock: the queue is full": bySQL = "full"
                case "penstock: a message with that unique_key waits or runs already",
                    "penstock: a message with that unique_key holds it still":
                    bySQL = "taken"
                default: throw error
                }
            }
            #expect(byProgram == bySQL, "\(message)")
        }

        static func insert(_ message: NewMessage, _ program: ForeignProgram) async throws {
            var due: Int64?
            if case .at(let moment) = message.due { due = moment.microseconds }
            var expires: Int64?
            if case .at(let moment) = message.expiry { expires = moment.microseconds }
            let headers =
                try message.headers.isEmpty
                ? nil
                : String(
                    decoding: JSONEncoder().encode(message.headers), as: UTF8.self)
            try await program.run(
                kept: """
                    INSERT INTO penstock_messages
                        (queue, payload, headers, priority, due_at, attempts_max, unique_key, group_key, key_scope, expires_at)
                    VALUES ('jobs', ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                [
                    Data(message.payload), headers, message.priority == 0 ? nil : message.priority, due,
                    message.attemptsMax, message.uniqueKey?.key, message.group, message.uniqueKey?.scope.stored,
                    expires,
                ])
        }

        func claim(_ limit: Int) async throws {
            for (index, store) in stores.enumerated() { held[index] += try await store.take(limit) }
            #expect(held[0].map(\.lease.sequence) == held[1].map(\.lease.sequence))
        }

        func settle(_ verdict: Verdict) async throws {
            for (index, store) in stores.enumerated() where !held[index].isEmpty {
                _ = try await store.settle([Settlement(held[index].removeFirst().lease, verdict)])
            }
        }

        func both(_ body: (SQLiteStore) async throws -> Void) async throws {
            for store in stores { try await body(store) }
        }

        /// Everything but the times.
        func expectSameRows(_ what: String) async throws {
            for sql in [
                """
                SELECT sequence, queue, state, reason, priority, attempt, attempts_max, due_at IS NULL, unique_key, key_scope,
                    headers, origin, payload FROM penstock_messages ORDER BY sequence
                """,
                "SELECT * FROM penstock_queues",
                "SELECT sequence, queue, policy, payload FROM penstock_drops ORDER BY sequence",
                "SELECT queue_id, priority, sequence, attempt, forgiven, marks FROM penstock_ready",
                "SELECT sequence, queue_id, priority, attempt, forgiven, marks FROM penstock_scheduled",
                "SELECT queue_id, group_key, priority, sequence, attempt, forgiven, marks FROM penstock_blocked",
                "SELECT * FROM penstock_permit",
                "SELECT * FROM penstock_unique",
                "SELECT * FROM penstock_expiry",
                "SELECT queue_id, unique_key, sequence, since FROM penstock_unique_period",
                "SELECT sequence, group_key, expires_at, hex(payload), typeof(payload) FROM penstock_log",
                "SELECT last_sequence, dropping FROM penstock_state",
            ] {
                let rows = try await [programs[0].rows(sql), programs[1].rows(sql)]
                #expect(rows[0] == rows[1], "\(what): \(sql)")
            }
        }
    }

    private static let policies: [QueuePolicy] =
        [QueuePolicy(retry: RetryPolicy(base: .seconds(3600), jitter: 0))]
        + OverflowPolicy.allCases.flatMap { whenFull in
            [1, 2, 5].map { capacity in
                QueuePolicy(
                    capacity: Capacity(capacity, whenFull: whenFull),
                    retry: RetryPolicy(attemptsMax: 2, base: .seconds(3600), factor: 1, jitter: 0))
            }
        }
        + [GroupPolicy.fifo(), .fifo(onDead: .hold), .limit(2)].flatMap { groups in
            [nil, Capacity(4, whenFull: .dropOldest), Capacity(3, whenFull: .dropNewest)].map { capacity in
                QueuePolicy(
                    capacity: capacity,
                    retry: RetryPolicy(attemptsMax: 2, base: .seconds(3600), factor: 1, jitter: 0), groups: groups)
            }
        }

    /// Keys that are held for a period are others, as they are taken once and for all here.
    private static func uniqueKey(_ random: SeededRandom) -> UniqueKey {
        if random.chance(0.2) {
            return UniqueKey("long \(random.next(in: 1...9))", scope: .period(.seconds(86_400)))
        }
        return UniqueKey(
            "key \(random.next(in: 1...3))", scope: random.chance(0.5) ? .untilEnded : .whileWaiting)
    }

    @Test(arguments: policies) func leavesTheSameRowsAsEnqueue(_ policy: QueuePolicy) async throws {
        let twins = try await Twins(policy)
        let random = SeededRandom(seed: UInt64(policy.capacity?.count ?? 0) + 77)
        let start = SystemTime().now
        for step in 1...60 {
            switch random.next(in: 0...11) {
            case 0...6:
                let hours = random.next(in: -2...9)
                let message = NewMessage(
                    payload: (0..<random.next(in: 0...3)).map { _ in UInt8(random.next(in: 0...255)) },
                    headers: random.chance(0.2) ? ["b": "é \"\\/\n", "a.B-1": "\(step)"] : [:],
                    priority: random.chance(0.5) ? random.next(in: -2...2) : 0,
                    due: random.chance(0.3) ? .at(start + .seconds(hours * 7001)) : .now,
                    attemptsMax: random.chance(0.2) ? random.next(in: 1...3) : nil,
                    uniqueKey: random.chance(0.4) ? Self.uniqueKey(random) : nil,
                    group: policy.groups != nil && random.chance(0.7) ? "group \(random.next(in: 1...2))" : nil,
                    expiry: random.chance(0.3) ? .at(start + .seconds(9 * 7001 + 60 + step)) : nil)
                try await twins.enqueue(message)
                // What a plain INSERT drops may have had a permit, which is given to another one by any claim, or here.
                if policy.groups != nil { try await twins.both { try await $0.configure(.jobs, .resumeGroup("none")) } }
            case 7: try await twins.claim(random.next(in: 1...3))
            case 8: try await twins.settle(.release)
            case 9: try await twins.settle(random.chance(0.5) ? .done : .retry(error: "e"))
            case 10: try await twins.both { _ = try await $0.apply(.redrive, to: .queue(.jobs, states: [.dead])) }
            default:
                try await twins.both { _ = try await $0.apply(.cancel, to: .queue(.jobs, states: [.ready], limit: 1)) }
            }
            try await twins.expectSameRows("step \(step)")
        }
        try await twins.close()
    }

    /// What workers give back makes a queue stand above its capacity; each arrival then drops one, and no more.
    @Test(arguments: OverflowPolicy.allCases) func leavesTheSameRowsAboveTheCapacity(_ whenFull: OverflowPolicy)
        async throws
    {
        let twins = try await Twins(.bounded(2, whenFull))
        for number in 1...2 { try await twins.enqueue(.text("\(number)")) }
        try await twins.claim(2)
        for number in 3...4 { try await twins.enqueue(.text("\(number)", key: "key \(number)")) }
        try await twins.settle(.release)
        try await twins.settle(.release)
        for number in 5...8 {
            try await twins.enqueue(.text("\(number)", priority: number))
            try await twins.expectSameRows("\(number)")
        }
        #expect(try await twins.stores[1].depths().waiting == 4)
        try await twins.close()
    }

    /// One ready message and capacity for one: the statements of a drop change what is the oldest.
    @Test func theLastReadyMessageCanBeDropped() async throws {
        let twins = try await Twins(.bounded(1, .dropOldest))
        for number in 1...3 { try await twins.enqueue(.text("\(number)", key: "same place \(number)")) }
        try await twins.expectSameRows("three")
        #expect(try await twins.programs[1].rows("SELECT sequence FROM penstock_ready") == ["3"])
        #expect(try await twins.programs[1].rows("SELECT sequence FROM penstock_drops") == ["1", "2"])
        try await twins.close()
    }

    @Test func scheduledMessagesAreDroppedWhenNoneIsReady() async throws {
        let twins = try await Twins(.bounded(2, .dropOldest))
        let tomorrow = SystemTime().now + .seconds(86_400)
        try await twins.enqueue(.text("later", due: .at(tomorrow + .seconds(2))))
        try await twins.enqueue(.text("sooner", due: .at(tomorrow)))
        try await twins.enqueue(.text("soon", due: .at(tomorrow + .seconds(1))))
        try await twins.expectSameRows("scheduled")
        #expect(try await twins.programs[1].rows("SELECT payload FROM penstock_drops") == ["sooner"])
        try await twins.close()
    }
}
