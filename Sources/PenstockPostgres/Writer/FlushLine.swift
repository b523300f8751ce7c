import Foundation
import PenstockCore
import PenstockProcesses
import PenstockSQL
import Synchronization

/// Waits until what was committed is on the server's disk, and on the standbys that it waits for, for all callers that asked for that.
///
/// It does so on a thread and a connection of its own: while the disk is slow or a standby away, everything goes on that need not be
/// there. The log of a server is one line, so a commit that waits for its own record waits for all before it.
final class FlushLine: Sendable {
    /// What a transaction's callers wait for.
    struct Entry: Sendable {
        var jobs: [Job]
        let mark: CommitMark
        /// What other processes of this machine had asked for.
        var requests: [PostedRequest] = []
        /// The life of the server to which the writer's connection leads that has written it.
        let life: ServerLife
        /// A moment before its COMMIT was sent.
        let begunAt: ContinuousClock.Instant
        /// When the first of its jobs is answered at the latest; ``FlushLine/add(_:)`` says it.
        var deadline = ContinuousClock.now
    }

    /// The server, or what stands before it, does not let this process in once more, so nobody could say of a transaction that it is on the disk.
    struct Unready: Error {
        let cause: ServerError

        /// Whether the server has said so itself; else it may be about to let others in.
        var isRefused: Bool { ["28", "53"].contains(cause.errorClass) }

        /// Whether that ends a call at once, so that others need not wait for it.
        func ends(_ job: Job) -> Bool { isRefused && job.durability == .powerLoss }
    }

    /// A connection for the thread. The writer's thread makes it, and has no more to do with it then.
    private final class Spare: @unchecked Sendable {
        let known: Known

        init(_ known: Known) { self.known = known }
    }

    private struct State {
        var entries: [Entry] = []
        /// Whether the thread has a connection, as far as it knows.
        var isConnected = false
        /// One that it has not taken yet.
        var spare: Spare?
        /// The number of the first transaction that the thread has taken and not answered.
        var takenFirst: Int64?
        var isRunning = false
        var isStopping = false
    }

    private let sessions: Sessions
    /// Where the processes sleep that have asked for something; they find out by themselves where this one cannot tell them.
    private let slots: WriterSlots?
    private let state = Mutex(State())
    private let bell = DispatchSemaphore(value: 0)
    private let end = DispatchSemaphore(value: 0)

    init(_ sessions: Sessions, slots: WriterSlots?) {
        self.sessions = sessions
        self.slots = slots
    }

    /// Sees to it that the thread has a connection before a transaction is committed that needs it: then a server that takes no more of them
    /// leaves nothing open. Where the thread loses it later it connects behind the COMMIT. Blocks.
    ///
    /// - Throws: ``Unready``. It says nothing of the connection that writes.
    func makeReady() throws {
        if state.withLock({ $0.isConnected || $0.spare != nil }) { return }
        let start = ContinuousClock.now
        defer { sessions.stalls.note(since: start) }
        do {
            let spare = Spare(try connected())
            state.withLock { $0.spare = spare }
        } catch let error as ServerError {
            throw Unready(cause: error)
        }
    }

    private func takeSpare() -> Known? {
        state.withLock { state in
            defer { state.spare = nil }
            if state.spare != nil { state.isConnected = true }
            return state.spare
        }?.known
    }

    /// Takes callers that wait, and answers processes that do not. The first begin the thread.
    func add(_ entry: Entry) {
        var entry = entry
        tell(entry.requests.filter { !$0.awaitsFlush }, entry.life)
        entry.requests.removeAll { !$0.awaitsFlush }
        if entry.jobs.isEmpty, entry.requests.isEmpty { return }
        // Of other processes' calls nobody knows the deadline here; they do not wait for this one beyond it.
        entry.deadline = entry.jobs.map(\.deadline).min() ?? .now + sessions.busyMax
        let mustStart = state.withLock { state in
            state.entries.append(entry)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustStart {
            do {
                try SystemThread.start("penstock flush") { [self] in
                    run()
                    end.signal()
                }
            } catch {
                state.withLock { $0.isRunning = false }
                for entry in take() { finish(entry, unknown(error)) }
                state.withLock { $0.takenFirst = nil }
            }
        }
        bell.signal()
    }

    /// Answers those that wait, ends the thread, and returns when it is through. Blocks.
    func close() {
        let isRunning = state.withLock { state in
            state.isStopping = true
            return state.isRunning
        }
        bell.signal()
        if isRunning { end.wait() }
        _ = takeSpare()
    }

    private func take() -> [Entry] {
        state.withLock { state in
            defer { state.entries = [] }
            state.takenFirst = Self.first(of: state.entries)
            return state.entries
        }
    }

    /// The number of the first transaction that is still to be flushed: until then its mark may be looked for.
    var firstPending: Int64? {
        state.withLock { [$0.takenFirst, Self.first(of: $0.entries)].compactMap { $0 }.min() }
    }

    private static func first(of entries: [Entry]) -> Int64? { entries.map(\.mark.number).min() }

    // MARK: The thread

    private func run() {
        var connection: Known?
        while true {
            bell.wait()
            let entries = take()
            if !entries.isEmpty {
                flush(entries, &connection)
                state.withLock { $0.takenFirst = nil }
            } else if state.withLock({ $0.isStopping && $0.entries.isEmpty }) {
                return
            }
        }
    }

    /// A connection, and what is known of the server to which it leads.
    private struct Known {
        let server: ServerConnection
        let life: ServerLife
        let connectedAt: ContinuousClock.Instant

        /// Whether the transaction is there for certain: the server is the one to which the writer's connection leads, and has not crashed
        /// since, as this connection was there before and still is. A mark is looked for otherwise.
        ///
        /// Marks of the same writer's connection do not say so. A server that was promoted has those of the one before, to which the
        /// writer may be connected still; and one that has crashed may have lost the last ones.
        func has(_ entry: Entry) -> Bool { entry.life == life && entry.begunAt > connectedAt }
    }

    private func flush(_ entries: [Entry], _ connection: inout Known?) {
        var left = entries
        var backoff = Backoff()
        while let deadline = left.map(\.deadline).min() {
            do {
                connection = connection ?? takeSpare()
                if connection?.server.isSuperseded == true { connection = nil }
                let isNew = connection == nil
                let known = try connection ?? connected()
                connection = known
                if isNew {
                    state.withLock { $0.isConnected = true }
                    // The writer's thread may have made one meanwhile.
                    _ = takeSpare()
                }
                let server = known.server
                server.deadline = max(deadline, .now) + .seconds(1)
                let lost = try left.filter { try !known.has($0) && !$0.mark.isThere(server) }
                if lost.isEmpty {
                    let failure = try Self.commit(server, sessions) {
                        _ = try $0.run(prepared: Self.record, [])
                    }
                    // Another connection has found the server that was promoted since: whether that has it is to be seen.
                    if server.isSuperseded { continue }
                    return left.forEach { finish($0, failure) }
                }
                // This connection may lead to the server that was there before, though others have found it as well; a new one leads to the
                // one that counts.
                if isNew {
                    for entry in lost { finish(entry, unknown(nil)) }
                    left.removeAll { entry in lost.contains { $0.mark.number == entry.mark.number } }
                } else {
                    if server.timeline != nil { sessions.address.avoid(server.connection) }
                    connection = nil
                }
            } catch {
                if let server = connection?.server { sessions.abandon(server) }
                connection = nil
                state.withLock { $0.isConnected = false }
                let now = ContinuousClock.now
                for entry in left where entry.deadline <= now { finish(entry, unknown(error)) }
                left.removeAll { $0.deadline <= now }
                if let next = left.map(\.deadline).min() { backoff.wait(until: next) }
            }
        }
    }

    private static let record = "penstock_flush"

    /// A connection whose transactions wait for the disk and the standbys.
    private func connected() throws -> Known {
        let server = try sessions.connect(waitsForStandbys: true)
        return Known(server: server, life: try Self.prepare(server), connectedAt: .now)
    }

    /// Makes a connection ready. The writer's thread may wait for that, and all that is asked for with it.
    static func prepare(_ server: ServerConnection) throws -> ServerLife {
        server.deadline = .now + Sessions.connectMax
        defer { server.deadline = nil }
        try server.run("SET synchronous_commit = on")
        // A small record of the log, in a transaction of its own.
        try server.prepare(record, "SELECT pg_logical_emit_message(true, 'penstock', '')", types: [])
        return try ServerLife(server)
    }

    /// Waits until all that was committed is on the disk of a server, and on the standbys that it waits for.
    ///
    /// - Parameter record: commits something that waits for that.
    /// - Returns: why nobody knows whether a standby has it.
    static func commit(
        _ server: ServerConnection, _ sessions: Sessions, _ record: (ServerConnection) throws -> Void
    ) throws -> PenstockError? {
        _ = server.takeWarning()
        let start = ContinuousClock.now
        try record(server)
        sessions.timings.recordFlush(since: start)
        guard let warning = server.takeWarning() else { return nil }
        return PenstockError(
            .outcomeUnknown,
            "What was written is at \(sessions.address.description), and no standby has confirmed it; look whether it is there before "
                + "you make the call again.",
            cause: ServerError(message: warning))
    }

    private func finish(_ entry: Entry, _ failure: PenstockError?) {
        if failure == nil { tell(entry.requests, entry.life) }
        for job in entry.jobs { job.finish(failure) }
    }

    private func tell(_ requests: [PostedRequest], _ life: ServerLife) {
        for request in requests { slots?.finish(request.taken, answer: life.stamped(request.answer)) }
    }

    private func unknown(_ cause: (any Error)?) -> PenstockError { ServerFailures.unknown(sessions.address, cause) }
}
