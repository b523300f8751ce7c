import PenstockConformance
import PenstockCore
import PenstockTestKit
import Testing

/// The store in memory keeps every rule that any store must keep.
@Suite(.timeLimit(.minutes(5))) struct InMemoryConformanceTests {
    /// The rules that take longest, which are the last ones, begin first. Of each kind of random lives one is led here, as this store is
    /// compared with itself: it leads them all beside the one on SQLite.
    @Test(
        arguments: Array(
            ConformanceCase.all.filter { $0.subject != "random lives" || $0.name.hasSuffix(" seed 1") }.reversed()))
    func conforms(_ rule: ConformanceCase) async throws {
        try await rule.run(on: InMemoryHarness())
    }

    /// A store that does everything in one step, as the one that the documentation shows, has no steps to tell of.
    @Test(arguments: ConformanceCase.all.filter { $0.subject == "deletion" })
    func conformsInOneStep(_ rule: ConformanceCase) async throws {
        try await rule.run(on: OneStepHarness())
    }

    @Test(arguments: 1...20)
    func livesAreSound(seed: Int) async throws {
        try await RandomLives.check(seed: UInt64(seed), steps: 400, InMemoryHarness())
    }
}

/// The store in memory, of which no step is seen.
private struct OneStepHarness: StoreHarness {
    private let harness = InMemoryHarness()
    var time: ManualTime { harness.time }

    func open() async throws -> any MessageStore { try await harness.open() }
    func crash(_ store: any MessageStore) async throws { try await harness.crash(store) }
}
