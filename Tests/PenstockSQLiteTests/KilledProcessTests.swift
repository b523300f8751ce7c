import Foundation
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// Real processes that are really killed: the kernel says who is dead.
@Suite(.timeLimit(.minutes(5))) struct KilledProcessTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    @Test func theMessagesOfAKilledProcessAreBackAtTheNextLook() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        for number in 1...5 { try await store.put(.text("\(number)"), durability: .powerLoss) }
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try await SQLiteStore.open(path: path)
            let messages = try await store.take(3)
            _ = try await store.settle([Settlement(messages[1].lease, .done)])
            kill(getpid(), SIGKILL)
        }
        let worker = try #require(try await store.status(of: nil).workers.first)
        #expect(worker.isAlive == false)
        #expect(worker.leased == 2)
        #expect(try await store.reclaim() == Reclaimed(fromDeadWorkers: 2))
        let messages = try await store.take(9)
        #expect(messages.map(\.lease.sequence.rawValue) == [1, 3, 4, 5])
        #expect(messages.map(\.attempt) == [2, 2, 1, 1])
        let attempts = try await store.messages(MessageQuery(sequences: [.init(1)], withAttempts: true)).first?.attempts
        #expect(attempts?.map(\.outcome) == [.workerDied])
        #expect(attempts?.first?.worker == worker.name)
        try await store.close()
    }

    /// A lock does not pass on to a child: a command that outlives its killed worker does not keep it alive.
    @Test func aChildThatOutlivesItsWorkerKeepsNoLock() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"), durability: .powerLoss)
        let pidFile = folder.file("child.pid")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, pidFile = pidFile as String] in
            // What this process has from the test's must not pass on, or the test would wait for the child as well.
            for descriptor in 0..<getdtablesize() { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
            let store = try await SQLiteStore.open(path: path)
            _ = store.changes.token(for: .jobs)
            _ = try await store.take()
            var child: pid_t = 0
            var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("600"), nil]
            guard posix_spawn(&child, "/bin/sleep", nil, nil, &arguments, environ) == 0 else { exit(30) }
            try String(child).write(toFile: pidFile, atomically: true, encoding: .utf8)
            kill(getpid(), SIGKILL)
        }
        let child = try #require(Int32(try String(contentsOfFile: pidFile, encoding: .utf8)))
        #expect(kill(child, 0) == 0, "The child still runs.")
        #expect(try await store.reclaim() == Reclaimed(fromDeadWorkers: 1))
        kill(child, SIGKILL)
        try await store.close()
    }

    /// Killed at any moment of a stream of enqueues: what was acknowledged is there, in order, and nothing is torn.
    @Test(arguments: 1...6) func whatWasAcknowledgedSurvives(_ round: Int) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let acknowledged = folder.file("acknowledged")
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, acknowledged = acknowledged as String, round] in
            let store = try await SQLiteStore.open(path: path)
            let log = open(acknowledged, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            let count = Tally()
            await withTaskGroup(of: Void.self) { group in
                for caller in 1...8 {
                    group.addTask {
                        for number in 1...1_000_000 {
                            let text = "\(caller)-\(number)"
                            do { try await store.put(.text(text), durability: .processCrash) } catch { exit(31) }
                            let line = Array((text + "\n").utf8)
                            _ = write(log, line, line.count)
                            count.add()
                            // The others are then anywhere in their calls.
                            if count.count >= round * round * 29 { kill(getpid(), SIGKILL) }
                        }
                    }
                }
            }
        }
        let lines = try String(contentsOfFile: acknowledged, encoding: .utf8).split(separator: "\n").map(String.init)
        var found: Set<String> = []
        var after: SequenceNumber?
        while true {
            let page = try await store.messages(MessageQuery(after: after, limit: Limits.rowsMax, withPayload: true))
            found.formUnion(page.map { String(decoding: $0.payload ?? [], as: UTF8.self) })
            guard let last = page.last else { break }
            after = last.sequence
        }
        #expect(lines.count >= round * round * 29, "It is killed once so many are acknowledged.")
        #expect(found.isSuperset(of: lines), "\(lines.count) were acknowledged.")
        #expect(found.count <= lines.count + 8, "Beyond them, what each caller was waiting for at most.")
        #expect(try await SQLiteStore.inspectHealth(path: path).findings.isEmpty)
        try await store.close()
    }
}
