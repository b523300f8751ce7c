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

    /// A jail or a file system that will never give any says so as the store is opened, and no call waits for it.
    @Test(arguments: [ENOSYS, EOPNOTSUPP, EPERM])
    func aSystemThatKnowsNoLocksIsSaidAtOnce(number: Int32) throws {
        let side = try SharedFolder(besideDatabaseAt: path)
        let error = #expect(throws: PenstockError.self) { try lock(in: side, refusing: number) }
        #expect(error?.code == (number == EPERM ? PenstockError.Code.readOnly : .storage))
        #expect(error?.message.hasPrefix("\(side.file("writer-lock")) cannot be locked") == true)
    }

    /// What a server of files says may be over at the next call.
    @Test func aSystemThatHasNoLocksForNowIsNoReasonNotToOpen() throws {
        let one = try lock(in: SharedFolder(besideDatabaseAt: path), refusing: ENOLCK)
        #expect(one.tryAcquire())
    }

    private func lock(in side: SharedFolder, refusing number: Int32) throws -> WriterLock {
        try WriterLock(
            side, by: { _ in 0 },
            letGo: { _ in
                errno = number
                return -1
            })
    }

    /// A lock that the system does not give is told to callers, and no other process that should be ended.
    @Test func aFileSystemWithoutLocksIsSaid() async throws {
        let lock = try WriterLock(SharedFolder(besideDatabaseAt: path)) { _ in
            errno = ENOLCK
            return -1
        }
        let writer = try GroupWriter(busyMax: .milliseconds(20)) { line in
            let access = WriterAccess(
                lock, line,
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
