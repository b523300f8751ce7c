public import GRDB
internal import PenstockCore

extension PenstockStore {
    /// Opens the SQLite file at `path`, and makes it when there is none and the options allow that.
    public static func open(path: String, options: Options = Options()) async throws -> PenstockStore {
        throw PenstockError(.storage, "Opening a file is not built yet.")
    }

    /// Opens the store in an application's own database.
    public static func open(_ pool: DatabasePool, options: Options = Options()) async throws -> PenstockStore {
        throw PenstockError(.storage, "Opening a database pool is not built yet.")
    }
}
