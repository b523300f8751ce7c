import Foundation
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockProcesses
@testable import PenstockSQL
@testable import PenstockSQLite

/// Why the right to write cannot be had.
@Suite(.timeLimit(.minutes(5))) struct WriterLockTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.file("queue.db") }

    @Test func aLockThatAnotherHasIsNotRefused() throws {
        let side = try SharedFolder(besideDatabaseAt: path)
        let (one, other) = (try WriterLock(side), try WriterLock(side))
        #expect(one.tryAcquire())
        #expect(!other.tryAcquire())
        #expect(other.refusal == nil)
    }

    /// A lock that the system does not give is told to callers, and no other process that should be ended.
    @Test func aFileSystemWithoutLocksIsSaid() async throws {
        let lock = try WriterLock(SharedFolder(besideDatabaseAt: path)) { _ in
            errno = ENOLCK
            return -1
        }
        let writer = try GroupWriter(busyMax: .milliseconds(20)) { line in
            let access = WriterAccess(
                lock, line, random: SystemRandom(),
                WriterAccess.Engine(
                    busyMax: .milliseconds(20), sharesTransactions: false, timings: WriteTimings(), requireStill: {},
                    readAnswer: { _ in nil }, decideAnswer: { _ in nil }))
            while line.wait() { _ = access.enter() }
        }
        let error = await expect(.storage) { try await writer.perform { (_: Transaction) in } }
        #expect(error?.message.hasPrefix("\(lock.path) cannot be locked") == true)
        await writer.close()
    }
}
