import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization
import PenstockSQL

/// Puts on the disk what was committed, and answers the callers that wait for it.
///
/// A commit with `synchronous = NORMAL` is whole in the write-ahead log, where every process sees it and where a killed
/// process leaves it; `fdatasync` of that puts it on the disk with everything before it. That is what SQLite itself
/// does within a COMMIT with `FULL`. Done after the COMMIT it needs no lock: other processes write meanwhile, and
/// so does this one. One that was begun anew in between was first copied into the database and flushed there.
///
/// A flush that fails may have lost pages that no later flush knows of. So nothing is called durable from then on.
final class Flusher: Sendable {
    private struct State {
        var jobs: [Job] = []
        var hasThread = false
        var isStopping = false
        var failure: PenstockError?
    }

    /// Flushes the file that is open as a descriptor; returns 0, or another number and says why in `errno`.
    typealias Flush = @Sendable (Int32) -> Int32

    private let path: String
    private let descriptor: Int32
    private let flush: Flush
    private let timings: WriteTimings
    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)
    private let threadEnd = DispatchSemaphore(value: 0)

    /// Opens the write-ahead log of the database at `path`, on which a connection must be open and stay so: it keeps the
    /// file there.
    init(_ path: String, timings: WriteTimings, flush: @escaping Flush) throws {
        self.path = path
        self.flush = flush
        self.timings = timings
        descriptor = SystemCall.uninterrupted { open(path + "-wal", O_RDWR | O_CLOEXEC) }
        guard descriptor >= 0 else {
            throw SystemErrors.failure("The write-ahead log of \(path) cannot be opened", errno)
        }
    }

    deinit {
        close(descriptor)
    }

    /// Flushes, and answers `jobs`, before it returns.
    ///
    /// - Returns: whether all that was committed before is on the disk.
    @discardableResult
    func flush(for jobs: [Job]) -> Bool {
        let failure = flushed()
        for job in jobs { job.finish(failure) }
        return failure == nil
    }

    /// Flushes and answers `jobs` on a thread of its own, together with others that come meanwhile.
    func flushSoon(for jobs: [Job]) {
        let (mustWake, mustStart) = state.withLock { state in
            defer {
                state.jobs += jobs
                state.hasThread = true
            }
            return (state.jobs.isEmpty, !state.hasThread)
        }
        do {
            if mustStart { try start() }
            if mustWake { bell.signal() }
        } catch {
            // The system makes no thread now, so this one does it.
            let jobs = state.withLock { state in
                state.hasThread = false
                defer { state.jobs = [] }
                return state.jobs
            }
            flush(for: jobs)
        }
    }

    /// Returns when everybody has been answered.
    func end() {
        let hasThread = state.withLock { state in
            state.isStopping = true
            return state.hasThread
        }
        guard hasThread else { return }
        bell.signal()
        threadEnd.wait()
    }

    private func start() throws {
        try SystemThread.start("penstock flush") { [self] in
            while true {
                bell.wait()
                let (jobs, isStopping) = state.withLock { state in
                    defer { state.jobs = [] }
                    return (state.jobs, state.isStopping)
                }
                if !jobs.isEmpty { flush(for: jobs) }
                if isStopping { break }
            }
            threadEnd.signal()
        }
    }

    /// Flushes, unless it has failed before.
    ///
    /// - Returns: why the answer cannot be that it is on the disk: the commit is there now, and nobody knows whether a
    ///   power cut would leave it.
    func flushed() -> PenstockError? {
        if let failure = state.withLock({ $0.failure }) { return failure }
        let start = ContinuousClock.now
        let result = flush(descriptor)
        let code = errno
        timings.recordFlush(since: start)
        guard result != 0 else { return nil }
        let failure = PenstockError(
            .outcomeUnknown,
            "The disk of \(path) reported an error (\(String(cString: strerror(code)))) after the call was carried out, so "
                + "a power cut may undo it. Close the store, see to the disk, and look what is there.")
        state.withLock { $0.failure = failure }
        return failure
    }

    /// Why nothing more can be put on the disk, once a flush has failed. To be asked before the work is done.
    var refusal: PenstockError? {
        guard let failure = state.withLock({ $0.failure }) else { return nil }
        var refusal = PenstockError(
            .storage,
            "The disk of \(path) has reported an error, and may have lost what was written before; nothing was done. See to the disk, and "
                + "open the store again, or start its program anew.", cause: failure)
        refusal.needsReopening = true
        return refusal
    }

    /// The operating system's flush.
    @Sendable static func systemFlush(_ descriptor: Int32) -> Int32 {
        #if canImport(Darwin)
            // There fsync leaves data in the drive's cache; only a full sync survives a power cut.
            if SystemCall.uninterrupted({ fcntl(descriptor, F_FULLFSYNC) }) != -1 { return 0 }
            // The file system has none. SQLite does the same with what it flushes.
            guard [ENOTSUP, ENOTTY, EINVAL].contains(errno) else { return -1 }
            return SystemCall.uninterrupted { fsync(descriptor) }
        #else
            return SystemCall.uninterrupted { fdatasync(descriptor) }
        #endif
    }
}
