import GRDB
import PenstockConformance
import PenstockCore
import PenstockSQLite
import PenstockTestKit
import Testing

struct ConformanceTests {
    private static let places = Places(8)

    @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.all)
    func conforms(_ rule: ConformanceCase) async throws {
        try await Self.places.run { try await rule.run(on: SQLiteHarness()) }
    }

    /// A guest in an application's pool keeps every rule as well.
    @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.all)
    func conformsInAnApplicationsPool(_ rule: ConformanceCase) async throws {
        try await Self.places.run { try await rule.run(on: PoolHarness()) }
    }
}

/// The harness of a store in an application's pool: one file, and a pool and a store for each process.
private final class PoolHarness: StoreHarness {
    let time = ManualTime()
    private let folder = TemporaryFolder()
    private let random = SeededRandom(seed: 1)

    func open() async throws -> any MessageStore {
        try await openStore(afterStep: nil)
    }

    func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> any MessageStore {
        try await openStore(afterStep: afterStep)
    }

    private func openStore(afterStep: (@Sendable () async throws -> Void)?) async throws -> SQLiteStore {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let pool = try DatabasePool(path: folder.file("application.db"), configuration: configuration)
        var options = SQLiteStore.Options(time: time, random: random)
        options.afterStep = afterStep
        return try await SQLiteStore.open(pool: pool, options: options)
    }

    func crash(_ store: any MessageStore) async throws {
        await (store as? SQLiteStore)?.crash()
    }
}
