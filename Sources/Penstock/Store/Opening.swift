public import GRDB
internal import PenstockCore
internal import PenstockSQLite

extension PenstockStore {
    /// Opens the SQLite file at `path`, makes it when there is none, and brings it to the newest schema; the options say
    /// otherwise of each.
    ///
    /// With `access: .readOnly` the file and its folder stay as they are, nothing is locked and nobody is waited for. So a
    /// program can look at a file that it may not write, also in a folder that nobody may write, and at one whose
    /// schema is a little older.
    ///
    /// ```swift
    /// let store = try await PenstockStore.open(path: "shop.db", options: .init(access: .readOnly))
    /// print(try await store.queues().map(\.depths.ready))
    /// ```
    ///
    /// - Throws: `PenstockError` with code `notFound` (there is none and the options do not allow making it),
    ///   `notADatabase`, `newerSchema`, `olderSchema` (it is not to be migrated, and has not what is needed), `readOnly`,
    ///   `diskFull`, `corrupt` or `busy`. A file that is refused is left untouched.
    public static func open(path: String, options: Options = Options()) async throws -> PenstockStore {
        switch options.access {
        case .readOnly:
            PenstockStore(try await SQLiteReader.open(path: path, time: options.time), options: options)
        case .readWrite:
            PenstockStore(try await SQLiteStore.open(path: path, options: options.ofSQLite), options: options)
        }
    }

    /// Opens the store in an application's own database, beside the application's tables.
    ///
    /// The pool stays the application's: ``close()`` leaves it open, and it must stay open until then.
    ///
    /// - Throws: as ``open(path:options:)``.
    public static func open(_ pool: DatabasePool, options: Options = Options()) async throws -> PenstockStore {
        switch options.access {
        case .readOnly:
            PenstockStore(try await SQLiteReader.open(pool, time: options.time), options: options)
        case .readWrite:
            PenstockStore(try await SQLiteStore.open(pool: pool, options: options.ofSQLite), options: options)
        }
    }
}

extension PenstockStore.Options {
    fileprivate var ofSQLite: SQLiteStore.Options {
        var options = SQLiteStore.Options(
            time: time, random: random, createIfMissing: createIfMissing, migration: migration, workerName: workerName)
        options.leavesWriteAheadLog = leavesWriteAheadLog
        return options
    }
}
