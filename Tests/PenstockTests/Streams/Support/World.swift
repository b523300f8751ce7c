import Penstock
import PenstockCore
import PenstockSQLite
import PenstockTestKit
import Testing

/// What survives a process: a database, in memory or in a file, and the time of day.
final class World: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case memory, sqlite
    }

    let time = ManualTime()
    private let random = SeededRandom(seed: 7)
    private let memory: InMemoryDatabase?
    private let folder: TemporaryFolder?

    init(_ kind: Kind) {
        memory = kind == .memory ? InMemoryDatabase(time: time, random: random) : nil
        folder = kind == .sqlite ? TemporaryFolder() : nil
    }

    /// A process: a handle on the database.
    func open() async throws -> any MessageStore {
        if let memory { return memory.open() }
        let path = try #require(folder?.file("test.db"))
        return try await SQLiteStore.open(path: path, options: .init(time: time, random: random))
    }

    /// The process dies.
    func crash(_ storage: any MessageStore) async {
        (storage as? InMemoryStore)?.crash()
        await (storage as? SQLiteStore)?.crash()
    }

    func store(_ storage: any MessageStore) -> PenstockStore {
        PenstockStore(storage, options: .init(time: time, random: random))
    }
}
