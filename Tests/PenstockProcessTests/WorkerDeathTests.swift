import Foundation
import GRDB
import Penstock
import PenstockTestKit
import Subprocess
import Testing

extension Faults {
    @Suite struct WorkerDeathTests {
        /// The messages of a worker that is killed are in another, idle worker's hands within a second, though their
        /// leases have half a minute left. The times are those that the file has on record.
        @Test func anotherWorkerHasTheMessagesOfAKilledOneWithinASecond() async throws {
            try await Site.use { site in
                let gate = try Gate(site)
                let waits = try await measured(atMost: 10, until: { $0 <= .seconds(1) }) {
                    try await takeOver(at: site, gate, queue: "q\($0)")
                }
                #expect(try #require(waits.last) <= .seconds(1), "from the kill to the second claims: \(waits)")
                try await site.expectHealthy()
            }
        }

        /// - Returns: the time from the kill to the last of the second claims.
        private func takeOver(at site: Site, _ gate: Gate, queue: String) async throws -> Duration {
            // With a child and a grandchild, which hold standard output as well.
            let script = """
                read -r line; echo "$PENSTOCK_SEQUENCE $PENSTOCK_ATTEMPT"
                [ "$line" = pass ] || { (sh -c 'sleep 1000' & sleep 1000) & read -r _ < \(gate.path); }
                """
            let work = ["work", queue, "--concurrency", "2", "--", "sh", "-c", script]
            let (first, second) = (try Lines(), try Lines())
            try await site.succeed(["queue", "create", queue])
            try await site.succeed(["enqueue", queue, "--lines"], input: Array("wait\nwait\n".utf8))
            let victim = try await site.start(work, output: first.writeEnd)
            try first.closeWriteEnd()
            #expect(try await first.next(2).count == 2)

            // One message that the victim has no place for. When it is worked, the other worker is idle.
            let heir = try await site.start(work, output: second.writeEnd)
            try second.closeWriteEnd()
            try await site.succeed(["enqueue", queue, "pass"])
            #expect(try await second.next()?.hasSuffix(" 1") == true)

            let killedAt = SystemTime().now
            victim.send(SIGKILL)
            let again = try await second.next(2)
            #expect(again.count == 2 && again.allSatisfy { $0.hasSuffix(" 2") }, "\(again)")
            let claimedAt = try site.number(
                "SELECT max(claimed_at) FROM penstock_lease JOIN penstock_queue ON id = queue_id WHERE name = ?",
                [queue])
            // The pipe ends: of the victim's commands, and of what they started, nothing is left.
            #expect(try await first.rest() == [])
            #expect(try await victim.end.status == .signaled(SIGKILL))

            try gate.open(for: 2)
            heir.send(SIGTERM)
            #expect(try await heir.end.status == .exited(0))
            #expect(
                try site.column("SELECT DISTINCT state FROM penstock_messages WHERE queue = ?", [queue]) == ["done"])
            #expect(
                try site.column("SELECT outcome FROM penstock_attempts WHERE queue = ?", [queue])
                    == ["workerDied", "workerDied"])
            return Timestamp(microseconds: Int64(claimedAt)) - killedAt
        }

        /// A command that gets away from its worker, by leaving the process group, still has its payload whole when the
        /// worker is killed before it was read: it never takes a part for the whole.
        @Test(arguments: [1, 60_000, 3_000_000])
        func theCommandOfAKilledWorkerHasItsWholePayload(count: Int) async throws {
            try await Site.use { site in
                let gate = try Gate(site)
                let lines = try Lines()
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q"], input: [UInt8](repeating: 0x61, count: count))
                let script = "echo started; read -r _ < \(gate.path); wc -c"
                let worker = try await site.start(
                    ["work", "q", "--", "setsid", "sh", "-c", script], output: lines.writeEnd)
                try lines.closeWriteEnd()
                #expect(try await lines.next() == "started")
                worker.send(SIGKILL)
                #expect(try await worker.end.status == .signaled(SIGKILL))
                try gate.open()
                #expect(try await lines.rest() == ["\(count)"])
            }
        }

        /// A worker that stands still for longer than its lease has lost its message: another one gets it, and what
        /// the first one says later changes nothing.
        @Test func aStoppedWorkersLateWordChangesNothing() async throws {
            try await Site.use { site in
                let gates = [try Gate(site, "gate1"), try Gate(site, "gate2")]
                let (first, second) = (try Lines(), try Lines())
                try await site.succeed(["queue", "create", "q"])
                try await site.succeed(["enqueue", "q", "x"])
                func work(lease: String) -> [String] {
                    let script = #"echo began; read -r _ < gate$PENSTOCK_ATTEMPT; echo "ended $PENSTOCK_ATTEMPT""#
                    return ["work", "q", "--lease", lease, "--", "sh", "-c", script]
                }
                let sleeper = try await site.start(work(lease: "3s"), output: first.writeEnd)
                try first.closeWriteEnd()
                #expect(try await first.next() == "began")
                sleeper.send(SIGSTOP)

                let other = try await site.start(work(lease: "30s"), output: second.writeEnd)
                try second.closeWriteEnd()
                #expect(try await second.next() == "began")
                #expect(try site.column("SELECT outcome FROM penstock_attempts") == ["leaseExpired"])

                // The first worker's command ends well, and the worker goes on just to tell so.
                try gates[0].open()
                #expect(try await first.next() == "ended 1")
                sleeper.send(SIGTERM)
                sleeper.send(SIGCONT)
                #expect(try await sleeper.end.status == .exited(0))
                #expect(try await first.rest() == [])
                #expect(
                    try site.column("SELECT state || ' ' || attempt FROM penstock_messages") == ["leased 2"])

                other.send(SIGTERM)
                try gates[1].open()
                #expect(try await other.end.status == .exited(0))
                #expect(try await second.rest() == ["ended 2"])
                #expect(try site.column("SELECT state || ' ' || attempt FROM penstock_messages") == ["done 2"])
                #expect(try site.number("SELECT done_total FROM penstock_queues") == 1)
                try await site.expectHealthy()
            }
        }
    }
}
