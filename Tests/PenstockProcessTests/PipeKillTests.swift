import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Testing

extension Proofs {
    /// Three workers, each of which hands on what its command writes, and all of them killed again and again.
    @Suite struct PipeKillTests {
        /// How the workers run their commands.
        enum Manner: CaseIterable {
            /// A process for each message.
            case once
            /// Processes that stay, some of which kill themselves with a message in hand.
            case staying

            /// How many messages go in.
            var lineCount: Int { (self == .once ? 200 : 1000) * Proofs.scale }
        }

        /// How many workers are killed meanwhile.
        private static let killCount = min(6 * Proofs.scale, 100)

        private static let stages = [("a", "b"), ("b", "c"), ("c", "d")]

        private func work(_ stage: Int, _ manner: Manner) -> [String] {
            let (queue, next) = Self.stages[stage]
            let work = ["work", queue, "--into", next, "--concurrency", "3"]
            switch manner {
            case .once:
                let script = #"IFS= read -r line || true; printf '%s' "$line $PENSTOCK_QUEUE""#
                return work + ["--", "sh", "-c", script]
            case .staying:
                let script = #"""
                    while IFS= read -r line; do
                        case $line in *77*) mkdir "$PENSTOCK_QUEUE $line" 2>/dev/null && kill -9 $$;; esac
                        echo "$line $PENSTOCK_QUEUE"
                    done
                    """#
                return work + ["--lines", "--", "sh", "-c", script]
            }
        }

        @Test(arguments: Manner.allCases)
        func eachLineComesOutOnceThoughEveryWorkerIsKilled(manner: Manner) async throws {
            try await Proofs.withSeed { random in
                try await Site.use { site in
                    for queue in ["a", "b", "c", "d"] {
                        // A short line in the middle, so that workers are killed also as they wait for room.
                        let bound = queue == "c" ? ["--capacity", "5", "--when-full", "wait"] : []
                        try await site.succeed(
                            ["queue", "create", queue, "--attempts", "1000", "--retry-base", "0"] + bound)
                    }
                    let input = (1...manner.lineCount).map { "\($0)\n" }.joined()
                    try await site.succeed(["enqueue", "a", "--lines"], input: Array(input.utf8))
                    let reader = try DatabaseQueue(path: site.file)
                    defer { try? reader.close() }
                    func doneCount() throws -> Int {
                        let query = "SELECT sum(done_total) FROM penstock_queues"
                        return try reader.read { try Int.fetchOne($0, sql: query) ?? 0 }
                    }
                    var workers: [Child] = []
                    for stage in Self.stages.indices { workers.append(try await site.start(work(stage, manner))) }
                    let pace = Self.stages.count * manner.lineCount / (Self.killCount + 1)
                    for kill in 0..<Self.killCount {
                        let count = kill * pace + random.next(in: 1...pace)
                        try await eventually { try doneCount() >= count }
                        let stage = random.next(in: 0...2)
                        workers[stage].send(SIGKILL)
                        #expect(try await workers[stage].end.status == .signaled(SIGKILL), Proofs.repeatable)
                        workers[stage] = try await site.start(work(stage, manner))
                    }
                    let query = "SELECT count(*) FROM penstock_messages WHERE queue = 'd'"
                    try await eventually {
                        try reader.read { try Int.fetchOne($0, sql: query) ?? 0 } >= manner.lineCount
                    }
                    try await site.stop(workers)
                    let outputs = try site.column("SELECT payload FROM penstock_messages WHERE queue = 'd'")
                    #expect(
                        outputs.sorted() == (1...manner.lineCount).map { "\($0) a b c" }.sorted(), Proofs.repeatable)
                    #expect(
                        try site.number("SELECT count(*) FROM penstock_messages WHERE state <> 'done' AND queue <> 'd'")
                            == 0, Proofs.repeatable)
                    try await site.expectHealthy()
                }
            }
        }
    }
}
