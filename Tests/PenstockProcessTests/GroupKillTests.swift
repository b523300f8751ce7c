import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// Workers that are killed again and again under groups and limits: at no moment are two messages of a group in order at
    /// work, or more than a limit allows.
    ///
    /// The commands keep record: each holds a lock of the kernel, which goes with it, for its group and for a place of the limit.
    /// One that finds the lock taken says so in a file.
    @Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/flock")))
    struct GroupKillTests {
        private static let killCount = 12 * Proofs.scale
        private static let messageCount = 240 * Proofs.scale
        private static let limit = 3

        private static let script = #"""
            note() { echo "$1 $PENSTOCK_SEQUENCE $PENSTOCK_GROUP" >> record; }
            exec 8> "group-$PENSTOCK_GROUP"
            flock -n 8 || note overlap
            for place in 1 2 3 4; do
                exec 9> "place-$place"
                if flock -n 9; then break; fi
            done
            if [ "$place" = 4 ]; then note crowded; fi
            note start
            cat > /dev/null
            note end
            """#

        @Test func noTwoOfAGroupAreEverAtWork() async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    try await site.succeed(["limit", "set", "places", "\(Self.limit)"])
                    try await site.succeed([
                        "queue", "create", "q", "--fifo", "--share-limit", "places", "--attempts", "1000",
                        "--retry-base", "0",
                    ])
                    for group in 0..<6 {
                        let lines = (0..<Self.messageCount / 6).map { "\($0)\n" }.joined()
                        try await site.succeed(
                            ["enqueue", "q", "--lines", "--group", "g\(group)"], input: Array(lines.utf8))
                    }
                    let work = ["work", "q", "--concurrency", "4", "--", "sh", "-c", Self.script]
                    let reader = try DatabaseQueue(path: site.file)
                    defer { try? reader.close() }
                    func doneCount() throws -> Int {
                        try reader.read { try Int.fetchOne($0, sql: "SELECT done_total FROM penstock_queues") ?? 0 }
                    }
                    var workers: [Child] = []
                    for _ in 0..<3 { workers.append(try await site.start(work)) }
                    let pace = Self.messageCount / (Self.killCount + 1)
                    for kill in 0..<Self.killCount {
                        let count = kill * pace + random.next(in: 1...pace)
                        try await eventually { try doneCount() >= count }
                        let index = random.next(in: 0...2)
                        workers[index].send(SIGKILL)
                        #expect(try await workers[index].end.status == .signaled(SIGKILL), Proofs.repeatable)
                        workers[index] = try await site.start(work)
                    }
                    try await eventually { try doneCount() == Self.messageCount }
                    try await site.stop(workers)
                    let record = try String(contentsOfFile: "\(site.folder)/record", encoding: .utf8)
                    try expectOrder(record.split(separator: "\n").map(String.init))
                    #expect(try site.number("SELECT count(*) FROM penstock_groups") == 0)
                    try await site.expectHealthy()
                }
            }
        }

        /// No command found a lock taken, and within each group first starts rise.
        private func expectOrder(_ record: [String]) throws {
            var last: [Substring: Int] = [:]
            var seen: Set<Int> = []
            for line in record {
                let words = line.split(separator: " ")
                let sequence = try #require(words.count == 3 ? Int(words[1]) : nil, "\(line)")
                #expect(words[0] == "start" || words[0] == "end", "\(line); \(Proofs.repeatable)")
                guard words[0] == "start", seen.insert(sequence).inserted else { continue }
                #expect(sequence > last[words[2], default: 0], "\(line) after \(last); \(Proofs.repeatable)")
                last[words[2]] = sequence
            }
            #expect(seen.count == Self.messageCount, Proofs.repeatable)
        }
    }
}
