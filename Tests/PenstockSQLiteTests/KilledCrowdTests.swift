import Foundation
import GRDB
import PenstockCore
import PenstockSQLite
import PenstockTestKit
import Testing

/// Processes that carry out each other's calls, and are killed at any moment of it.
@Suite(.timeLimit(.minutes(5))) struct KilledCrowdTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    /// Six at a time, each for some milliseconds: what was acknowledged is there, and nothing is there twice.
    @Test func whatWasAcknowledgedIsThereOnce() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let seed = UInt64.random(in: 0 ... .max)
        let random = SeededRandom(seed: seed)
        let acknowledged = folder.file("acknowledged")
        var (round, answerCount) = (0, 0)
        // Where a process takes long to begin, few live at the same time.
        repeat {
            round += 1
            try await withThrowingTaskGroup(of: Void.self) { group in
                for line in 1...6 {
                    let lives = (1...8).map { life in (life, microseconds: 5000 + random.next() % 60_000) }
                    group.addTask { [path, acknowledged, round] in
                        for (life, microseconds) in lives {
                            await Self.liveAndDie(path, acknowledged, "\(round)-\(line)-\(life)", microseconds)
                        }
                    }
                }
                try await group.waitForAll()
            }
            answerCount = try await DatabaseQueue(path: path).read { database in
                try Int.fetchOne(database, sql: "SELECT count(*) FROM penstock_answer") ?? 0
            }
        } while answerCount == 0 && round < 5
        let lines = try String(contentsOfFile: acknowledged, encoding: .utf8).split(separator: "\n").map(String.init)
        let texts = try await DatabaseQueue(path: path).read { database in
            try String.fetchAll(database, sql: "SELECT CAST(payload AS TEXT) FROM penstock_log")
        }
        #expect(!lines.isEmpty, "Nothing was acknowledged. Seed \(seed).")
        #expect(Set(texts).count == texts.count, "Something is there twice. Seed \(seed).")
        #expect(Set(texts).isSuperset(of: lines), "\(lines.count) were acknowledged. Seed \(seed).")
        #expect(
            texts.count <= lines.count + round * 6 * 8 * 3,
            "Beyond them, the first, and what each caller waited for. Seed \(seed).")
        #expect(answerCount != 0, "They have carried out each other's calls.")
        // Nothing that the dead have left keeps the living.
        try await store.put(.text("last"), durability: .powerLoss)
        #expect(try await SQLiteStore.inspectHealth(path: path).findings.isEmpty)
        try await store.close()
    }

    /// Enqueues with two callers until it is killed, which is as many microseconds after its first enqueue.
    private static func liveAndDie(
        _ path: String, _ acknowledged: String, _ name: String, _ microseconds: UInt64
    ) async {
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [
                path = path as String, acknowledged = acknowledged as String, name = name as String,
                microseconds = microseconds as UInt64
            ] in
            let store = try await SQLiteStore.open(path: path)
            let log = open(acknowledged, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            try await store.put(.text("\(name)-first"), durability: .powerLoss)
            DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(Int(microseconds))) {
                kill(getpid(), SIGKILL)
            }
            await withTaskGroup(of: Void.self) { group in
                for caller in 1...2 {
                    group.addTask {
                        for number in 1...1_000_000 {
                            let text = "\(name)-\(caller)-\(number)"
                            let durability: Durability = number % 2 == 0 ? .powerLoss : .processCrash
                            do {
                                try await store.put(.text(text), durability: durability)
                            } catch let error as PenstockError where error.code == .outcomeUnknown {
                                // The process that was carrying it out was killed.
                                return
                            } catch {
                                exit(31)
                            }
                            let line = Array((text + "\n").utf8)
                            _ = write(log, line, line.count)
                        }
                    }
                }
            }
            // It ends by nothing but the kill.
            while true { pause() }
        }
    }
}
