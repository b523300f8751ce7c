import Foundation
import GRDB
import PenstockTestKit
import Subprocess
import Synchronization
import Testing

/// One round of work under fire: two producers and three workers on one queue, of which some process is killed now and
/// then. What the commands note is the clock: a kill comes when so many notes have been made.
struct Mill {
    let site: Site
    let queue: String
    /// How many messages may wait, should producers have to wait for room; `nil`: any number.
    let capacity: Int?
    let random: SeededRandom

    private static let batchCount = 8
    private static let lineCount = 20
    private static let killCount = 6

    /// What a command noted of its message.
    private struct Note: Hashable {
        var worker: Int32
        var sequence: Int
        var attempt: Int
        var line: String

        init?(_ text: String) {
            let parts = text.split(separator: " ", maxSplits: 3)
            guard parts.count == 4, let worker = Int32(parts[0]), let sequence = Int(parts[1]),
                let attempt = Int(parts[2])
            else { return nil }
            self.worker = worker
            self.sequence = sequence
            self.attempt = attempt
            line = String(parts[3])
        }
    }

    /// Some lines that one call of `enqueue` was given.
    private struct Batch {
        var lines: [String]
        var isAcknowledged: Bool
    }

    /// The producers that run now.
    private final class Producing: Sendable {
        let children = Mutex<[Int: Child]>([:])
    }

    /// Runs the round, and checks that its bookkeeping holds.
    ///
    /// - Returns: how many attempts were lost to a kill.
    func run() async throws -> Int {
        let bound = capacity.map { ["--capacity", "\($0)", "--when-full", "wait"] } ?? []
        try await site.succeed(["queue", "create", queue] + bound)
        let lines = try Lines()
        let producing = Producing()
        let (batches, notes, killed, last) = try await withThrowingTaskGroup(of: [Batch].self) { producers in
            for number in 1...2 {
                producers.addTask { try await produce(number, producing) }
            }
            var fired = try await fire(lines, producing)
            // Producers that wait for room need somebody who makes it, until they are done.
            let steady = try await site.start(work + command, output: lines.writeEnd)
            let batches = try await producers.reduce(into: []) { $0 += $1 }
            steady.send(SIGKILL)
            fired.killed.insert(steady.id)
            let last = try await site.start(work + ["--drain"] + command, output: lines.writeEnd)
            try lines.closeWriteEnd()
            let notes = try await fired.notes + lines.rest()
            #expect(try await last.end.status == .exited(0), Proofs.repeatable)
            return (batches, notes, fired.killed, last.id)
        }
        return try check(batches, try notes.map { try #require(Note($0)) }, killed, last)
    }

    private var work: [String] { ["work", queue, "--concurrency", "4"] }

    private var command: [String] {
        ["--", "sh", "-c", #"IFS= read -r line; echo "$PPID $PENSTOCK_SEQUENCE $PENSTOCK_ATTEMPT $line""#]
    }

    private func produce(_ number: Int, _ producing: Producing) async throws -> [Batch] {
        var batches: [Batch] = []
        for batch in 1...Self.batchCount {
            let lines = (1...Self.lineCount).map { "\(number) \(batch) \($0)" }
            let child = try await site.start(
                ["enqueue", queue, "--lines"],
                input: try site.descriptor(of: Array((lines.joined(separator: "\n") + "\n").utf8)))
            producing.children.withLock { $0[number] = child }
            let end = try await child.end
            producing.children.withLock { $0[number] = nil }
            #expect([.exited(0), .signaled(SIGKILL)].contains(end.status), "\(end.errors) \(Proofs.repeatable)")
            // A producer may be killed after it has said that all is well.
            let isAcknowledged = end.output.hasPrefix("\(Self.lineCount) messages enqueued")
            #expect(isAcknowledged || end.status != .exited(0), Proofs.repeatable)
            batches.append(Batch(lines: lines, isAcknowledged: isAcknowledged))
        }
        return batches
    }

    /// Keeps three workers going, and kills one process after another; in the end all workers.
    ///
    /// - Returns: what the commands noted meanwhile, and which workers were killed.
    private func fire(
        _ lines: Lines, _ producing: Producing
    ) async throws -> (notes: [String], killed: Set<Int32>) {
        var workers: [Child] = []
        var killed: Set<Int32> = []
        var notes: [String] = []
        for _ in 1...3 { workers.append(try await site.start(work + command, output: lines.writeEnd)) }
        for _ in 1...Self.killCount {
            notes += try await lines.next(random.next(in: 1...25))
            let producer = producing.children.withLock { random.pick($0.sorted { $0.key < $1.key }.map(\.value)) }
            if let producer, random.chance(0.5) {
                producer.send(SIGKILL)
            } else {
                let index = random.next(in: 0...2)
                killed.insert(workers[index].id)
                workers[index].send(SIGKILL)
                workers[index] = try await site.start(work + command, output: lines.writeEnd)
            }
        }
        for worker in workers {
            worker.send(SIGKILL)
            killed.insert(worker.id)
        }
        return (notes, killed)
    }

    private func check(_ batches: [Batch], _ notes: [Note], _ killed: Set<Int32>, _ last: Int32) throws -> Int {
        let workers = killed.union([last])
        let (messages, attempts) = try site.read { database in
            (
                try Row.fetchAll(
                    database,
                    sql: "SELECT sequence, state, attempt, payload FROM penstock_messages WHERE queue = ?",
                    arguments: [queue]),
                try Row.fetchAll(
                    database, sql: "SELECT sequence, attempt, outcome, worker FROM penstock_attempts WHERE queue = ?",
                    arguments: [queue])
            )
        }

        // None lost, none in part, none made up.
        let present = Dictionary(grouping: messages) { $0["payload"] as String }
        #expect(present.values.allSatisfy { $0.count == 1 }, Proofs.repeatable)
        for batch in batches {
            let count = batch.lines.count { present[$0] != nil }
            #expect(batch.lines.prefix(count).allSatisfy { present[$0] != nil }, Proofs.repeatable)
            // Where producers wait for room, as many go in at a time as there is room for.
            let isWhole = count == batch.lines.count || !batch.isAcknowledged && (count == 0 || capacity != nil)
            #expect(isWhole, "\(count) of \(batch.lines.count) lines are there; \(Proofs.repeatable)")
        }
        #expect(Set(present.keys).isSubset(of: batches.flatMap(\.lines)), Proofs.repeatable)
        #expect(messages.allSatisfy { $0["state"] == "done" }, Proofs.repeatable)

        // Each was worked, and an attempt only once.
        let noted = Dictionary(grouping: notes) { [$0.sequence, $0.attempt] }
        #expect(noted.values.allSatisfy { $0.count == 1 }, Proofs.repeatable)
        for message in messages {
            let key: [Int] = [message["sequence"], message["attempt"]]
            #expect(noted[key]?.first?.line == message["payload"], "\(message) \(Proofs.repeatable)")
        }

        // An attempt before the last is one that ran when its worker was killed, and is on record as that.
        let lost = Dictionary(grouping: attempts) { [$0["sequence"] as Int, $0["attempt"] as Int] }
        let final = Dictionary(messages.map { ($0["sequence"] as Int, $0["attempt"] as Int) }) { first, _ in first }
        for note in notes where note.attempt != final[note.sequence] {
            let record = lost[[note.sequence, note.attempt]]?.first
            #expect(record?["outcome"] == "workerDied", "\(note) \(Proofs.repeatable)")
            // A command that found its worker gone already has another parent.
            let worker = (record?["worker"] as String?)?.split(separator: ":").last.flatMap { Int32($0) } ?? 0
            #expect(killed.contains(worker), "\(note) \(Proofs.repeatable)")
            #expect(note.worker == worker || !workers.contains(note.worker), "\(note) \(Proofs.repeatable)")
        }
        #expect(final.values.reduce(0) { $0 + $1 - 1 } == attempts.count, Proofs.repeatable)
        #expect(attempts.count <= killed.count * 4, "no worker ran more than four; \(Proofs.repeatable)")
        #expect(
            try site.number("SELECT reclaimed_total FROM penstock_queues WHERE queue = ?", [queue]) == attempts.count,
            Proofs.repeatable)
        return attempts.count
    }
}
