import Penstock
import PenstockCore
import PenstockSQLite
import PenstockTestKit
import Testing

/// What survives a process: a database, in memory, in a file or of the engine that is named for tests, and the time of day.
final class World: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case memory, sqlite, elsewhere

        static var allCases: [Kind] { TestDatabase.isElsewhere ? [.elsewhere] : [.memory, .sqlite] }
    }

    let time = ManualTime()
    private let random = SeededRandom(seed: 7)
    private let database: TestDatabase?
    private let folder: TemporaryFolder?

    init(_ kind: Kind) {
        database = kind == .sqlite ? nil : TestDatabase(time: time, random: random)
        folder = kind == .sqlite ? TemporaryFolder() : nil
    }

    /// A process: a handle on the database.
    func open() async throws -> any MessageStore {
        if let database { return database.open() }
        let path = try #require(folder?.file("test.db"))
        return try await SQLiteStore.open(path: path, options: .init(time: time, random: random))
    }

    /// The process dies.
    func crash(_ storage: any MessageStore) async throws {
        try await database?.crash(storage)
        await (storage as? SQLiteStore)?.crash()
    }

    func store(_ storage: any MessageStore) -> PenstockStore {
        PenstockStore(storage, options: .init(time: time, random: random))
    }
}
