public import GRDB
internal import PenstockCore
internal import PenstockSQLite

extension PenstockStore {
    /// Opens the SQLite file at `path`, brings it to the newest schema, and makes it when there is none.
    ///
    /// - Throws: `PenstockError` with code `notFound` (there is none and the options do not allow making it),
    ///   `notADatabase`, `newerSchema`, `readOnly`, `diskFull`, `corrupt` or `busy`. A file that is refused is left
    ///   untouched.
    public static func open(path: String, options: Options = Options()) async throws -> PenstockStore {
        PenstockStore(try await SQLiteStore.open(path: path, options: options.ofSQLite), options: options)
    }

    /// Opens the store in an application's own database, beside the application's tables.
    ///
    /// The pool stays the application's: ``close()`` leaves it open, and it must stay open until then.
    ///
    /// - Throws: as ``open(path:options:)``.
    public static func open(_ pool: DatabasePool, options: Options = Options()) async throws -> PenstockStore {
        PenstockStore(try await SQLiteStore.open(pool: pool, options: options.ofSQLite), options: options)
    }
}

extension PenstockStore.Options {
    fileprivate var ofSQLite: SQLiteStore.Options {
        var options = SQLiteStore.Options(time: time, random: random, createIfMissing: createIfMissing)
        options.leavesLog = leavesLog
        return options
    }
}
