package import CoreMetrics
package import Logging
package import Penstock
import PenstockCore
import PenstockFormats

/// The file that a command works on, or the address of the server or the database where it is. Commands get their store here and nowhere
/// else.
package struct StoreFile: Sendable {
    /// The path or the address, which may have a password in it.
    package var path: String

    var kind: StoreAddress.Kind { StoreAddress.kind(of: path) }

    /// The path of the file; `nil`: there is none, as the address leads to a server or a database.
    package var filePath: String? { kind == .file ? path : nil }

    /// The path or the address as people are told of it.
    package var shown: String { Passwords.hidden(address: path) }

    /// Throws when it is no file, which `command` needs.
    func requireFile(for command: String) throws(Failure) {
        switch kind {
        case .file: return
        case .server:
            throw Failure(
                .usage, "`penstock \(command)` needs the file itself, and \(shown) is a server; run it on that machine."
            )
        case .database:
            let advice = Self.databaseAdvice[command].map { "; \($0)" } ?? ""
            throw Failure(.usage, "`penstock \(command)` is for files, and \(shown) is a PostgreSQL database\(advice).")
        }
    }

    /// What does for a database what a command does for a file.
    private static let databaseAdvice = [
        "backup": "use pg_dump or pg_basebackup",
        "restore": "use pg_restore, with a dump that was made with --no-unlogged-table-data",
        "doctor --repair": "nothing is repaired there; restore a backup, or put rows right by hand",
    ]

    /// The path from the root, or the address, which names a socket by its path from the root. One that has no room for that in the name
    /// of a socket stays as it is.
    var absolutePath: String {
        let start = path.prefix("unix:".count)
        let scheme = start.lowercased() == "unix:" ? start : ""
        let name = path.dropFirst(scheme.count)
        guard kind == .file || !scheme.isEmpty, !name.isEmpty, !name.hasPrefix("/"), let folder = getcwd(nil, 0) else {
            return path
        }
        defer { free(folder) }
        let absolute = "\(String(cString: folder))/\(name)"
        return scheme.isEmpty || absolute.utf8.count < SocketPath.bytesEnd ? "\(scheme)\(absolute)" : path
    }

    /// Whether there is a file, or may be one. Of what an address leads to it is not known before it is opened.
    var exists: Bool { kind != .file || access(path, F_OK) == 0 || !Self.saysMissing(errno) }

    /// Whether `number`, the `errno` of a look at a path, says that no file can be had by it. Of a disk that does not answer, say, the store
    /// tells what the system tells, when it looks itself.
    static func saysMissing(_ number: Int32) -> Bool { [ENOENT, ENOTDIR, EACCES, ELOOP].contains(number) }

    /// Throws when there is none. Of one whose log is left the store says more.
    ///
    /// - Parameter sentence: what is said then; `nil`: how a file with queues is made.
    func refuseMissing(saying sentence: String? = nil) throws(Failure) {
        if exists { return }
        if errno == EACCES {
            throw Failure(
                .permission, "Whether there is a file at \(shown) cannot be seen; check the permissions of its folders."
            )
        }
        if errno == ELOOP { throw Failure(.missing, "\(shown) is a link that leads to itself; name the file.") }
        if let sentence { throw Failure(.missing, sentence) }
        if access(path + "-wal", F_OK) == 0 { return }
        let hint =
            StoreAddress.looksLikePort(path)
            ? "for a server write http://\(path)" : "`penstock queue create NAME` makes one"
        throw Failure(.missing, "There is no Penstock file at \(shown); \(hint).")
    }

    /// Calls `body` with the store, open only to be read, and closes it. The file stays as it is, also when its schema is
    /// older, and need not be one that may be written; so do the tables of a database. No writer is waited for.
    ///
    /// - Parameter queue: the queue that the command is about: an error that says there is none says how to make it.
    @MainActor
    package func look<Result>(
        queue: QueueName? = nil, _ body: @MainActor (PenstockStore) async throws -> Result
    ) async throws -> Result {
        try refuseMissing()
        return try await use(try await opened(.init(access: .readOnly)), queue, body)
    }

    /// Calls `body` with the store, open to be written, and closes it. A file with an older schema is brought up to date.
    ///
    /// - Parameters:
    ///   - mayCreate: whether the file is made when there is none.
    ///   - queue: the queue that the command is about: an error that says there is none says how to make it.
    ///   - tracing: the command's spans. They are handed over before this returns.
    @MainActor
    package func use<Result>(
        mayCreate: Bool = false, queue: QueueName? = nil, logger: Logger? = nil,
        metrics: (any MetricsFactory)? = nil, tracing: CommandTracing? = nil,
        _ body: @MainActor (PenstockStore) async throws -> Result
    ) async throws -> Result {
        let options = PenstockStore.Options(
            logger: logger, metrics: metrics, tracer: tracing?.tracer, createIfMissing: mayCreate)
        guard let tracing else { return try await use(try await open(options), queue, body) }
        return try await tracing.use { try await use(try await open(options), queue, body) }
    }

    /// Whether there is a database without tables of Penstock's.
    @MainActor func lacksTables() async throws -> Bool {
        do {
            try await look { _ in }
            return false
        } catch let error as PenstockError where error.code == .notFound {
            return true
        } catch let error as PenstockError where error.code == .olderSchema {
            return false
        }
    }

    /// Brings the tables of a database up to date.
    ///
    /// - Returns: the names of the steps that were applied.
    func migrate() async throws -> [String] { try await ServerStores.migrate(path) }

    /// Looks for what is wrong, and changes nothing.
    ///
    /// - Parameter stuckAfter: for how long a living worker may hold one message before the report names it.
    package func inspect(stuckAfter: Duration = .seconds(3600)) async throws -> HealthReport {
        if kind == .database { return try await ServerStores.inspect(path, stuckAfter: stuckAfter) }
        return try await PenstockStore.inspectHealth(path: path, stuckAfter: stuckAfter)
    }

    @MainActor
    private func use<Result>(
        _ store: PenstockStore, _ queue: QueueName?, _ body: @MainActor (PenstockStore) async throws -> Result
    ) async throws -> Result {
        let result: Result
        do {
            result = try await body(store)
        } catch {
            // What went wrong first is what the user must hear; what closing says after it is of no use to anybody.
            try? await store.close()
            throw explained(error, queue)
        }
        try await store.close()
        return result
    }

    private func open(_ options: PenstockStore.Options) async throws -> PenstockStore {
        let isNew = !exists
        let mayCreate = options.createIfMissing
        if !mayCreate { try refuseMissing() }
        do {
            return try await opened(options)
        } catch let error as PenstockError where mayCreate && isNew && [.readOnly, .notFound].contains(error.code) {
            throw Failure(.cannotCreate, error.message)
        }
    }

    private func opened(_ options: PenstockStore.Options) async throws -> PenstockStore {
        guard kind == .file else { return try await ServerStores.open(path, kind, options) }
        return try await PenstockStore.open(path: path, options: options)
    }

    /// A queue of `store`. An error that says there is none says how to make it.
    func queue(_ queue: QueueName, in store: PenstockStore) async throws -> Queue<[UInt8]> {
        do {
            return try await store.queueAsStored(queue.text)
        } catch {
            throw explained(error, queue)
        }
    }

    private func explained(_ error: any Error, _ queue: QueueName?) -> any Error {
        guard let queue, (error as? PenstockError)?.code == .unknownQueue else { return error }
        return Failure(
            .missing,
            "There is no queue '\(queue)' in \(shown); `penstock queue create \(ShellWords.arguments(queue.text))` makes it."
        )
    }
}
