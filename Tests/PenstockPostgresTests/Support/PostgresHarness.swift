import PenstockConformance
import PenstockCore
import PenstockTestKit

@testable import PenstockPostgres

/// The harness of the store in PostgreSQL: one database, and a store for each process.
final class PostgresHarness: StoreHarness {
    let time = ManualTime()
    private let database: PostgresDatabase
    /// One source for all processes: with one each, of the same seed, they would give the same lease tokens.
    private let random = SeededRandom(seed: 1)
    private let hearsRingsAlone: Bool

    /// - Parameter hearsRingsAlone: whether its stores wake nobody for what they find when they look at the server.
    init(hearsRingsAlone: Bool = false) throws {
        database = try PostgresDatabase()
        self.hearsRingsAlone = hearsRingsAlone
    }

    var url: String { database.url }

    func open() async throws -> any MessageStore {
        try await openStore()
    }

    func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> any MessageStore {
        try await openStore(afterStep: afterStep)
    }

    var hasSteps: Bool { true }

    func openStore(afterStep: (@Sendable () async throws -> Void)? = nil) async throws -> PostgresStore {
        var options = PostgresStore.Options(time: time, random: random)
        options.afterStep = afterStep
        options.hearsRingsAlone = hearsRingsAlone
        let store = try await PostgresStore.open(url: url, options: options)
        guard hearsRingsAlone else { return store }
        // It begins to listen; what is rung for before it hears would be lost to it.
        _ = store.changes
        try await eventually { store.lookInterval > .seconds(1) }
        return store
    }

    func crash(_ store: any MessageStore) async throws { try await database.crash(store) }
}
