import ArgumentParser

/// Which store a server serves: a file of this machine, or a store in a PostgreSQL database.
package struct ServedStoreOptions: ParsableArguments {
    @Option(
        name: .customLong("db"),
        help: .init(
            "The file with the queues, or the PostgreSQL database: postgres://USER@HOST/DATABASE; else what PENSTOCK_DB says, else ./penstock.db.",
            valueName: "path"),
        completion: .file())
    var path: String?

    package init() {}

    package mutating func validate() throws { try FileOptions.check(path) }

    /// The store. Where it is in a database, and this program has not what it takes to open that, the process becomes the one that has.
    ///
    /// - Throws: ``Failure`` when another server is named, or the program cannot be started.
    package func store() throws -> StoreFile {
        let store = StoreFile(path: path ?? FileOptions.defaultPath)
        if store.kind != .database {
            try store.requireFile(for: "serve")
        } else if !ServerStores.canOpen(.database) {
            // Its arguments are this one's, letter for letter: what PENSTOCK_DB says stays where others do not see it.
            try CompanionProgram.databaseServer.become(ProcessArguments.own)
        }
        return store
    }
}
