import Foundation
package import PenstockCore
import Synchronization

/// The lock of the one process that may write. At a server, which has a lock of its own, only the one that writes for all of its machine.
///
/// SQLite's own wait for its write lock is a loop of sleeps, in which the process that wakes at the right moment wins and
/// others can lose for seconds. So Penstock's writers take this lock first, and only then SQLite's. Programs that do not
/// know it, such as the sqlite3 shell, meet them at SQLite's lock.
///
/// No thread ever blocks in it: the kernel's wait for a file lock has no end, and the process that holds it may be stopped
/// for hours, in a debugger or by Ctrl-Z. A process that finds it taken waits at a slot of its own
/// (``WriterSlots``), for as long as it likes.
///
/// One thread of a store uses it.
package final class WriterLock: Sendable {
    /// The slots at which processes wait; `nil` where there is no shared memory: they try again from time to time.
    package let slots: WriterSlots?
    /// Where the lock's file lies.
    package let path: String
    private let descriptor: Int32
    private let lock: FileLock.Call
    /// Why the system gave no lock at the last try that failed, an `errno`; 0: another process had it.
    private let failure = Atomic<Int32>(0)
    /// Of the file that is open; the system knows it of every one.
    private let number: FileNumber?
    static let fileName = "writer-lock"

    /// - Throws: ``PenstockError`` when the lock's file cannot be made or opened, or the system knows no such locks.
    package convenience init(_ folder: SharedFolder) throws { try self.init(folder, by: FileLock.alone) }

    /// - Parameters:
    ///   - lock: locks an open file. For tests, in which the system gives no locks.
    ///   - letGo: lets go of the lock.
    init(_ folder: SharedFolder, by lock: @escaping FileLock.Call, letGo: FileLock.Call = FileLock.none) throws {
        self.lock = lock
        path = folder.file(Self.fileName)
        let descriptor = try folder.open(path)
        // Every call would wait for what no moment brings.
        let lack = FileLock.lack(descriptor, by: letGo)
        guard lack == 0 else {
            close(descriptor)
            throw SystemErrors.failure("\(path) cannot be locked", lack)
        }
        self.descriptor = descriptor
        number = FileNumber(of: descriptor)
        slots = WriterSlots(in: folder)
    }

    deinit {
        close(descriptor)
    }

    /// Whether the lock's file is still the one at its place. Where somebody has removed or replaced it, or the folder that it lies in, the
    /// next process makes another, and neither this lock nor those of this process's workers are seen there.
    package var isInPlace: Bool { number?.isStill(at: path) ?? false }

    /// Takes the lock, if no other store has it.
    package func tryAcquire() -> Bool {
        let failure = FileLock.take(descriptor, by: lock)
        if failure == 0 { return true }
        self.failure.store(failure == EWOULDBLOCK ? 0 : failure, ordering: .relaxed)
        return false
    }

    /// Why the lock cannot be had, where that is not because another process has it: the file system gives none.
    package var refusal: PenstockError? {
        let failure = failure.load(ordering: .relaxed)
        return failure == 0 ? nil : SystemErrors.failure("\(path) cannot be locked", failure)
    }

    /// What a thread sleeps between two tries where nobody wakes it: half a millisecond to four and a half, lest two keep step.
    package static func pause() { usleep(500 + UInt32.random(in: 0..<4000)) }

    /// Lets go of the lock, and wakes one store that waits for it: the next one after `slot`, the caller's own.
    package func release(after slot: Int? = nil) {
        FileLock.release(descriptor)
        slots?.ringNext(after: slot)
    }
}
