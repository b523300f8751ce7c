public import Penstock
import PenstockCore
import PenstockSQL

extension PenstockStore {
    /// Opens the store in a PostgreSQL database, which any number of machines share.
    ///
    /// ```swift
    /// let store = try await PenstockStore.open(postgres: "postgres://mill@db.example/shop")
    /// let mail = try await store.queue("mail")
    /// try await mail.enqueue("hello")
    /// ```
    ///
    /// - Parameters:
    ///   - url: `postgres://USER@HOST:PORT/DATABASE`, with any of libpq's parameters and `schema=NAME` (else `penstock`). What it
    ///     leaves out is taken from the environment and `~/.pgpass`, as by `psql`; so no password need be written in it.
    ///   - options: as of a file. With `access: .readOnly` the role needs to be able to read the tables, and no more. A clock of one's own counts for this process only, and so has to be that of all others.
    /// - Throws: `PenstockError` with code `invalidInput` (no such address, or a server older than 13), `unreachable`, `forbidden`,
    ///   `notFound`, `notADatabase` (the schema has another program's tables), `newerSchema`, `olderSchema` or `busy`.
    public static func open(postgres url: String, options: Options = Options()) async throws -> PenstockStore {
        let store = try await PostgresStore.open(
            url: url,
            options: PostgresStore.Options(
                time: options.time is SystemTime ? nil : options.time, random: options.random, access: options.access,
                createIfMissing: options.createIfMissing, migration: options.migration, workerName: options.workerName))
        var options = options
        options.time = store.core.time
        return PenstockStore(store, options: options)
    }
}
