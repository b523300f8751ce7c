import GRDB
import PenstockConformance
import PenstockCore
import PenstockSQLite
import PenstockTestKit
import Testing

struct ConformanceTests {
    private static let places = Places(8)
    /// Places of their own: a ring that is missing keeps one for long.
    private static let ringPlaces = Places(4)

    /// The rules that take longest, which are the last ones, begin first: behind the others they would run alone.
    @Test(.timeLimit(.minutes(5)), arguments: Array(ConformanceCase.all.reversed()))
    func conforms(_ rule: ConformanceCase) async throws {
        try await Self.places.run { try await rule.run(on: SQLiteHarness()) }
    }

    /// Each ring that a rule waits for is given, and no look at the file makes up for it.
    @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.rings)
    func rings(_ rule: ConformanceCase) async throws {
        try await Self.ringPlaces.run { try await rule.run(on: SQLiteHarness(hearsRingsAlone: true)) }
    }

    /// A guest in an application's pool keeps every rule as well.
    @Test(.timeLimit(.minutes(5)), arguments: Array(ConformanceCase.all.filter { !isLeft($0) }.reversed()))
    func conformsInAnApplicationsPool(_ rule: ConformanceCase) async throws {
        try await Self.places.run { try await rule.run(on: PoolHarness()) }
    }

    @Test func someLivesAreLedInAPool() {
        let kept = ConformanceCase.all.filter { !Self.isLeft($0) }
        #expect(kept.count { $0.subject == "random lives" } == 6)
        #expect(kept.count { $0.testDescription.hasPrefix(Self.graphs) } == 1)
        #expect(!kept.contains { $0.testDescription.hasPrefix(Self.year) })
    }

    /// What a store in a pool does by itself is to borrow connections. The statements are the same, so what is there only to find wrong
    /// ones is led in a pool a few times.
    private static func isLeft(_ rule: ConformanceCase) -> Bool {
        let name = rule.testDescription
        if rule.subject == "random lives" { return !name.hasSuffix(" seed 1") && !name.hasSuffix(" seed 2") }
        if name.hasPrefix(graphs) { return !name.hasSuffix("181...200") }
        return name.hasPrefix(year)
    }

    private static let graphs = "workflow: random graphs"
    private static let year = "firing: a year"
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

    var hasSteps: Bool { true }

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
