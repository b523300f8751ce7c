import PenstockConformance
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit

/// The harness of the store on SQLite: one file, and a store for each process.
final class SQLiteHarness: StoreHarness {
    let time = ManualTime()
    let folder = TemporaryFolder()
    var path: String { folder.file("queue.db") }
    private let hearsRingsAlone: Bool
    /// One source for all processes: with one each, of the same seed, they would give the same lease tokens.
    private let random = SeededRandom(seed: 1)

    /// - Parameter hearsRingsAlone: whether its stores wake nobody for what they find when they look at the file.
    init(hearsRingsAlone: Bool = false) { self.hearsRingsAlone = hearsRingsAlone }

    func open() async throws -> any MessageStore {
        try await openStore()
    }

    func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> any MessageStore {
        try await openStore(afterStep: afterStep)
    }

    var hasSteps: Bool { true }

    func openStore(afterStep: (@Sendable () async throws -> Void)? = nil) async throws -> SQLiteStore {
        var options = SQLiteStore.Options(time: time, random: random)
        options.afterStep = afterStep
        options.hearsRingsAlone = hearsRingsAlone
        let store = try await SQLiteStore.open(path: path, options: options)
        guard hearsRingsAlone else { return store }
        // Where the system has no place for another listener at this moment, each call tries anew.
        try await eventually {
            _ = store.changes
            return store.lookInterval > .seconds(1)
        }
        return store
    }

    /// A store on the file, which has the queue `jobs`.
    func openWithJobs(
        _ policy: QueuePolicy = QueuePolicy(), afterStep: (@Sendable () async throws -> Void)? = nil
    ) async throws -> SQLiteStore {
        let store = try await openStore(afterStep: afterStep)
        try await store.configure(.jobs, .create(policy, ifAbsent: true))
        return store
    }

    /// The same with a message in each place: 1 done, 2 dead, 3 leased, 4 and 5 ready, 6 scheduled.
    func openWithEachPlace() async throws -> SQLiteStore {
        let store = try await openWithJobs()
        for number in 1...5 { try await store.put(.text("\(number)", key: "key \(number)")) }
        let messages = try await store.take(3)
        _ = try await store.settle([
            Settlement(messages[0].lease, .done), Settlement(messages[1].lease, .dead(error: "e")),
        ])
        try await store.put(.text("later", due: .after(.seconds(99))))
        return store
    }

    /// What an inspection finds of the file, or of another one, and is no note.
    func findings(of other: String? = nil) async throws -> [HealthFinding] {
        try await SQLiteStore.inspectHealth(path: other ?? path, time: time).findings.filter { $0.severity != .note }
    }

    func crash(_ store: any MessageStore) async throws {
        await (store as? SQLiteStore)?.crash()
    }
}
