import PenstockConformance
import PenstockTestKit
import Testing

/// The store in memory keeps every rule that any store must keep.
@Suite(.timeLimit(.minutes(5))) struct InMemoryConformanceTests {
    /// The rules that take longest, which are the last ones, begin first.
    @Test(arguments: Array(ConformanceCase.all.reversed()))
    func conforms(_ rule: ConformanceCase) async throws {
        try await rule.run(on: InMemoryHarness())
    }

    @Test(arguments: 1...20)
    func livesAreSound(seed: Int) async throws {
        try await RandomLives.check(seed: UInt64(seed), steps: 400, InMemoryHarness())
    }
}
