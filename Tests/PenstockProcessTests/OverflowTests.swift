import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// The command line and a plain INSERT by the sqlite3 shell are one door: with the same messages in the same order
    /// they leave the same rows.
    @Suite struct OverflowTests {
        @Test(arguments: ["drop-newest", "drop-oldest", "fail", "wait"])
        func aPlainInsertLeavesTheSameRows(policy: String) async throws {
            try await Proofs.withSeed { random in
                try await Site.use { byCommand in
                    try await Site.use { byInsert in
                        for site in [byCommand, byInsert] {
                            try await site.succeed([
                                "queue", "create", "q", "--capacity", "4", "--when-full", policy,
                            ])
                        }
                        for number in 1...25 {
                            let message = Message(number, random)
                            let accepted = [
                                try await message.enqueue(at: byCommand), try await message.insert(at: byInsert),
                            ]
                            #expect(accepted[0] == accepted[1], "\(message) \(Proofs.repeatable)")
                            // Now and then, and once at least, a worker makes room, and leaves dead letters or finished
                            // messages.
                            if number == 12 || random.chance(0.2) {
                                let command = random.pick(["exit 0", "exit 65"]) ?? "exit 0"
                                for site in [byCommand, byInsert] {
                                    try await site.succeed([
                                        "work", "q", "--drain", "--max", "2", "--", "sh", "-c", command,
                                    ])
                                }
                            }
                        }
                        let rows = [try Self.rows(of: byCommand), try Self.rows(of: byInsert)]
                        #expect(rows[0].count > 10)
                        #expect(rows[0] == rows[1], Proofs.repeatable)
                        try await byCommand.expectHealthy()
                        try await byInsert.expectHealthy()
                    }
                }
            }
        }

        /// Everything that the views show, and what lies behind them, times aside.
        private static func rows(of site: Site) throws -> [String] {
            let tables = [
                "penstock_messages", "penstock_queues", "penstock_attempts", "penstock_dead_letters", "penstock_drops",
                "penstock_workers", "penstock_log", "penstock_ready", "penstock_scheduled", "penstock_outcome",
                "penstock_unique", "penstock_depth",
            ]
            let times: Set = [
                "enqueued_at", "claimed_at", "finished_at", "dropped_at", "started_at", "ended_at", "worker",
                "wait_latency", "work_latency",
            ]
            return try site.read { database in
                try tables.flatMap { table in
                    let columns = try database.columns(in: table).map(\.name).filter { !times.contains($0) }
                    let values = columns.map { "quote(\($0))" }.joined(separator: " || ' ' || ")
                    return try String.fetchAll(database, sql: "SELECT \(values) AS value FROM \(table) ORDER BY value")
                        .map { "\(table): \($0)" }
                }
            }
        }

        /// A message as both doors take it.
        private struct Message: CustomStringConvertible {
            let payload: [UInt8]
            let priority: Int?
            let header: String?
            let due: String?
            let attempts: Int?
            let key: String?

            init(_ number: Int, _ random: SeededRandom) {
                let payloads = [
                    Array("message \(number)".utf8), Array("it's \"é\"\n\(number)".utf8), [0xFF, 0, UInt8(number)],
                ]
                payload = random.pick(payloads) ?? []
                priority = random.chance(0.4) ? random.next(in: -1...1) : nil
                header = random.chance(0.2) ? "value \(number)" : nil
                let day = Date.now.addingTimeInterval(86_400 * Double(random.next(in: 2...9)))
                due = random.chance(0.2) ? "\(day.formatted(.iso8601.year().month().day()))T07:30:00.250Z" : nil
                attempts = random.chance(0.2) ? 3 : nil
                key = random.chance(0.3) ? "key \(random.next(in: 1...4))" : nil
            }

            var description: String {
                "\(payload) priority \(priority ?? 0) due \(due ?? "now") key \(key ?? "none")"
            }

            /// - Returns: whether there is a new message.
            func enqueue(at site: Site) async throws -> Bool {
                var arguments = ["enqueue", "q", "--timeout", "1ms"]
                if let priority { arguments += ["--priority=\(priority)"] }
                if let header { arguments += ["--header", "name=\(header)"] }
                if let due { arguments += ["--at", due] }
                if let attempts { arguments += ["--attempts", "\(attempts)"] }
                if let key { arguments += ["--key", key] }
                let end = try await site.run(arguments, input: payload)
                // 69: the queue is full; 75: and was for the whole of the timeout.
                #expect([.exited(0), .exited(69), .exited(75)].contains(end.status), "\(end.errors)")
                return end.status == .exited(0) && !end.errors.contains("has that key")
            }

            /// - Returns: whether there is a new message.
            func insert(at site: Site) async throws -> Bool {
                func quoted(_ text: String?) -> String { text.map { "'\($0)'" } ?? "NULL" }
                let hex = payload.map { String(format: "%02x", $0) }.joined()
                let end = try await site.shell(
                    """
                    INSERT INTO penstock_messages (queue, payload, priority, headers, due_at, attempts_max, unique_key)
                    VALUES ('q', x'\(hex)', \(priority.map(String.init) ?? "NULL"),
                        \(quoted(header.map { "{\"name\":\"\($0)\"}" })), \(quoted(due)),
                        \(attempts.map(String.init) ?? "NULL"), \(quoted(key)));
                    """)
                #expect(end.status == .exited(0) || end.errors.contains("penstock: "), "\(end.errors)")
                return end.status == .exited(0)
            }
        }
    }
}
