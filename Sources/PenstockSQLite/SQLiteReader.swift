import Foundation
package import GRDB
package import PenstockCore
import PenstockProcesses
import Synchronization
package import PenstockSQL

/// A ``MessageStore`` on an SQLite file that only reads: for files that may not be written, and for programs that look.
///
/// It changes nothing, in the file or beside it. It makes no folder and no companion files, takes no lock of Penstock's,
/// waits for no writer and has no thread that stays: a reading of a file runs on one of its own. It works beside writers of
/// other processes, on a file of an older schema if that has what is read, and in a folder that cannot be written. Every call
/// that would write throws `readOnly`.
///
/// A task that waits for changes, as one that follows a log does, looks by itself ten times a second.
package final class SQLiteReader: SQLReading {
    private enum Source {
        case file(ReadOnlyFile)
        /// An application's.
        case pool(any DatabaseReader)
    }

    private let path: String
    private let source: Source
    private let time: any TimeSource
    private let places = ReadingPlaces(placesMax)
    private let isClosed = Mutex(false)
    /// Never rings.
    package let changes = Wakeups()

    /// Opens the file at `path` to read it.
    ///
    /// - Parameters:
    ///   - path: the database's file.
    ///   - time: the clocks by which it is said whether a worker lives.
    /// - Throws: ``PenstockError`` with code `notFound`, `notADatabase`, `newerSchema`, `corrupt` or `busy`; `olderSchema`
    ///   when the file has not yet what is read; `readOnly` when it may not be read; `invalidInput` when `path` is none.
    package static func open(path: String, time: any TimeSource = SystemTime()) async throws -> SQLiteReader {
        try await SystemThread.run {
            let path = try DatabasePath.resolved(path)
            do {
                return SQLiteReader(path, .file(try ReadOnlyFile(path, busyMax: busyMax)), time)
            } catch {
                throw ReadOnlyFile.translated(error, path)
            }
        }
    }

    /// Reads through an application's own pool or queue, which stays the application's.
    ///
    /// - Throws: as ``open(path:time:)``.
    package static func open(
        _ pool: any DatabaseReader, time: any TimeSource = SystemTime()
    ) async throws -> SQLiteReader {
        let path = pool.path
        do {
            try await pool.read { try SchemaMigrator(path: path).refuseUnreadable($0) }
            return SQLiteReader(try DatabasePath.resolved(path), .pool(pool), time)
        } catch {
            throw ReadOnlyFile.translated(error, path)
        }
    }

    /// How long another program may hold the file for itself, as one that recovers it does.
    private static let busyMax = Duration.seconds(30)

    /// How many readings run at once. Beside writers there is one connection, and of a file that nobody writes each reading has its own.
    private static let placesMax = 4

    private init(_ path: String, _ source: Source, _ time: any TimeSource) {
        self.path = path
        self.source = source
        self.time = time
    }

    /// A tenth of a second: nobody rings for a store that only reads.
    package var lookInterval: Duration { .milliseconds(100) }

    /// What the file is in the moment of a look.
    package var snapshots: Snapshots {
        Snapshots(time: time, locks: FolderLocks(folder: SharedFolder(existingBesideDatabaseAt: path)), read: read)
    }

    /// Which store this is, as ``MessageStore/storeID()`` says.
    package func storeID() async throws -> StoreID? {
        try await snapshots.read { connection in try StoreIdentity.read(connection) }
    }

    /// Lets go of the file. Waits for nobody.
    package func close() async throws {
        isClosed.withLock { $0 = true }
        guard case .file(let file) = source else { return }
        try await SystemThread.run { try file.close() }
    }

    private func read(_ body: @escaping @Sendable (Connection) throws -> Void) async throws {
        if isClosed.withLock({ $0 }) { throw PenstockError(.closed, "The store is closed; open it again.") }
        do {
            switch source {
            case .file(let file): try await places.run { try file.read { try body(SQLiteConnection($0)) } }
            case .pool(let pool): try await pool.read { try body(SQLiteConnection($0)) }
            }
        } catch {
            throw ReadOnlyFile.translated(error, path)
        }
    }
}

/// What a store that only reads refuses.
extension SQLiteReader {
    package func enqueue(_: [NewMessage], to _: QueueName, durability _: Durability) async throws -> [Receipt] {
        throw refusal
    }
    package func claim(_: ClaimRequest) async throws -> Claim { throw refusal }
    package func settle(_: [Settlement]) async throws -> [SettleResult] { throw refusal }
    package func expectEnd(of _: SequenceNumber) async throws -> MessageState { throw refusal }
    package func extend(_: [LeaseExtension]) async throws -> [LeaseStanding] { throw refusal }
    package func reclaim() async throws -> Reclaimed { throw refusal }
    package func append(
        _: [NewMessage], to _: QueueName, unless _: CursorName?, durability _: Durability
    ) async throws -> [Receipt] {
        throw refusal
    }
    package func moveCursor(_: CursorName, of _: QueueName, _: CursorMove) async throws -> CursorRecord? {
        throw refusal
    }
    package func schedule(_: ScheduleName, _: ScheduleChange) async throws -> ScheduleRecord? { throw refusal }
    package func fire() async throws -> Timestamp? { throw refusal }
    package func start(_: NewWorkflow, durability _: Durability) async throws -> StartedWorkflow { throw refusal }
    package func cancel(_: WorkflowName) async throws -> Int { throw refusal }
    package func record(
        _: StepName, result _: [UInt8], on _: Lease, extendingBy _: Duration?, durability _: Durability
    ) async throws -> StepRecord {
        throw refusal
    }
    package func emit(_: NewEvent, to _: EventTarget, durability _: Durability) async throws -> Bool { throw refusal }
    package func setLimit(_: LimitName, to _: Int?) async throws { throw refusal }
    package func configure(_: QueueName, _: QueueChange) async throws { throw refusal }
    package func apply(_: LineCommand, to _: Selection) async throws -> Int { throw refusal }
    package func prune(_: PruneRequest) async throws -> Pruned { throw refusal }

    private var refusal: PenstockError {
        if isClosed.withLock({ $0 }) { return PenstockError(.closed, "The store is closed; open it again.") }
        return PenstockError(.readOnly, "\(path) was opened only to be read; open it for writing to change it.")
    }
}
