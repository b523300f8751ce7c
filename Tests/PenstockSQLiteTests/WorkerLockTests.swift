import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// The lock that says a worker lives: when it comes, when it goes, and how it is tidied up.
@Suite(.timeLimit(.minutes(5))) struct WorkerLockTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }
    private var side: SharedFolder { SharedFolder(existingBesideDatabaseAt: path) }

    private func lockFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: side.path).filter { $0.hasPrefix("worker-") }
    }

    @Test func comesWithTheFirstMessageAndGoesWithTheStore() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        #expect(try await store.take().isEmpty)
        _ = try await store.reclaim()
        try await store.put(.text("it"))
        #expect(try lockFiles().isEmpty, "Who only enqueues or looks is no worker.")
        #expect(try await store.status(of: nil).workers.isEmpty)

        let message = try #require(try await store.take().first)
        let file = try #require(try lockFiles().first)
        #expect(WorkerLock.sight(of: file, in: side).isHeld)
        let worker = try #require(try await store.status(of: nil).workers.first)
        #expect(worker.isAlive == true)
        #expect(worker.processID == getpid())
        #expect(worker.name.hasSuffix(":\(getpid())"))
        #expect(worker.leased == 1)

        _ = try await store.settle([Settlement(message.lease, .release)])
        _ = try await store.take()
        #expect(try lockFiles() == [file], "One for the store's whole life.")
        try await store.close()
        #expect(try lockFiles().isEmpty)
        let other = try await SQLiteStore.open(path: path)
        #expect(try await other.status(of: nil).workers.isEmpty)
        try await other.close()
    }

    @Test func aCrashLeavesTheFileAndAReclaimRemovesIt() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        _ = try await store.take()
        await store.crash()
        let file = try #require(try lockFiles().first)
        #expect(!WorkerLock.sight(of: file, in: side).isHeld)

        let other = try await SQLiteStore.open(path: path)
        #expect(try await other.status(of: nil).workers.map(\.isAlive) == [false])
        #expect(try await other.reclaim() == Reclaimed(fromDeadWorkers: 1))
        #expect(try lockFiles().isEmpty)
        #expect(try await other.status(of: nil).workers.isEmpty)
        try await other.close()
    }

    @Test func filesThatNobodyHoldsAreRemovedByTheNextWorker() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let living = try await SQLiteStore.open(path: path)
        try await store.put(.text("a"))
        _ = try await living.take()
        let held = try lockFiles()
        // Killed between the making of its lock and the writing of its row.
        for _ in 1...2 {
            let name = WorkerLock.prefix + UUID().uuidString.lowercased()
            try Data().write(to: URL(fileURLWithPath: side.file(name)))
        }
        try await store.put(.text("b"))
        #expect(try lockFiles().count == 3, "An enqueue does not look.")
        _ = try await store.take()
        let left = try lockFiles()
        #expect(left.count == 2)
        #expect(Set(left).isSuperset(of: held))
        #expect(try await living.status(of: nil).workers.map(\.isAlive) == [true, true])
        try await living.close()
        try await store.close()
        #expect(try lockFiles().isEmpty)
    }

    /// Those who tidy up and those who make new locks at the same time never take a lock from its maker.
    @Test func tidyingTakesNoLockFromItsMaker() async throws {
        _ = try await SQLiteStore.openWithJobs(path).close()
        let side = side
        await withTaskGroup(of: Void.self) { group in
            for _ in 1...4 {
                group.addTask {
                    for _ in 1...300 {
                        guard let lock = try? WorkerLock(in: side) else {
                            Issue.record("No lock could be made.")
                            return
                        }
                        #expect(WorkerLock.sight(of: lock.name, in: side).isHeld)
                        lock.remove()
                    }
                }
                group.addTask {
                    for _ in 1...300 { WorkerLock.removeAbandoned(in: side) }
                }
            }
        }
    }

    /// Any program may write a row: one that names another file than a worker's is a dead worker's, and the file stays.
    @Test(arguments: ["../victim", "../queue.db", "doorbell-2", "worker-1", "worker-x/../../victim"])
    func aRowThatNamesAnotherFileTouchesNone(_ name: String) async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("it"))
        try FileManager.default.createDirectory(atPath: side.file("worker-x"), withIntermediateDirectories: false)
        let file = side.file(name)
        if !FileManager.default.fileExists(atPath: file) { try Data().write(to: URL(fileURLWithPath: file)) }
        try await ForeignProgram(path).run("INSERT INTO penstock_worker VALUES (71, '\(name)', 'w', 1, 'b', 0)")
        #expect(try await store.status(of: nil).workers.map(\.isAlive) == [false])
        _ = try await store.reclaim()
        #expect(try await store.status(of: nil).workers.isEmpty)
        #expect(try await store.take().count == 1)
        #expect(FileManager.default.fileExists(atPath: file))
        try await store.close()
        #expect(FileManager.default.fileExists(atPath: file))
    }

    /// One file after the other would be made, and none ever be locked.
    @Test func aFileSystemWithoutLocksIsSaid() throws {
        let side = try SharedFolder(besideDatabaseAt: path)
        let error = #expect(throws: PenstockError.self) {
            try WorkerLock(in: side) { _ in
                errno = ENOLCK
                return -1
            }
        }
        #expect(error?.code == .storage)
        #expect(try lockFiles().isEmpty)
    }

    @Test func onlyTheNameOfAWorkersFileIsOne() async throws {
        _ = try await SQLiteStore.openWithJobs(path).close()
        let name = try WorkerLock(in: side).name
        #expect(WorkerLock.isName(name))
        for other in [
            "", "worker-", "x" + name, name + "x", name + "\0", "../" + name, String(name.dropLast()) + "/",
            String(name.dropLast()) + "é", String(name.dropLast(2)) + "é", name.uppercased(),
        ] {
            #expect(!WorkerLock.isName(other), "\(other)")
        }
    }

    /// Somebody took it for dead: it has lost its leases, hears so, and goes on as a new worker.
    @Test func aWorkerWronglyTakenForDeadComesBack() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let other = try await SQLiteStore.open(path: path)
        try await store.put(.text("a"))
        let lost = try #require(try await store.take().first)
        let before = try #require(try await store.status(of: nil).workers.first).id
        try FileManager.default.removeItem(atPath: side.file(try #require(try lockFiles().first)))
        #expect(try await other.reclaim() == Reclaimed(fromDeadWorkers: 1))
        #expect(try await store.settle([Settlement(lost.lease, .done)]) == [.leaseLost])

        let again = try #require(try await store.take().first)
        #expect(again.attempt == 2)
        let worker = try #require(try await other.status(of: nil).workers.first)
        #expect(worker.isAlive == true)
        #expect(try await other.reclaim() == Reclaimed())
        #expect(try await store.settle([Settlement(again.lease, .done)]) == [.settled(.done)])
        let attempts = try await store.messages(MessageQuery(withAttempts: true)).first?.attempts
        #expect(attempts?.map(\.outcome) == [.workerDied])
        #expect(before >= 1)
        try await store.close()
        try await other.close()
    }

    @Test func leasesOfAWorkerWithoutARowGoBack() async throws {
        let store = try await SQLiteStore.openWithJobs(path)
        let other = try await SQLiteStore.open(path: path)
        try await store.put(.text("a"))
        _ = try await store.take()
        try await ForeignProgram(path).run("DELETE FROM penstock_worker")
        #expect(try await other.reclaim() == Reclaimed(fromDeadWorkers: 1))
        #expect(try await other.take().map(\.attempt) == [2])
        try await store.close()
        try await other.close()
    }

    @Test func aRegistrationThatWasRolledBackIsMadeAgain() async throws {
        struct Fault: Error {}
        let store = try await SQLiteStore.openWithJobs(path)
        try await store.put(.text("a"))
        await #expect(throws: Fault.self) {
            try await store.core.writer.perform { [worker = store.core.worker] transaction in
                _ = try worker.register(in: transaction)
                throw Fault()
            }
        }
        #expect(try await store.status(of: nil).workers.isEmpty)
        #expect(try await store.take().count == 1)
        #expect(try await store.status(of: nil).workers.map(\.isAlive) == [true])
        #expect(try lockFiles().count == 1)
        try await store.close()
    }
}
