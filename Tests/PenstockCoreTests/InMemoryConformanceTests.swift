import PenstockTestKit
import Testing

/// The store in memory keeps every rule that any store must keep.
@Suite struct InMemoryConformanceTests {
    @Test(.timeLimit(.minutes(1)), arguments: ConformanceCase.all)
    func conforms(_ rule: ConformanceCase) async throws {
        try await rule.run(on: InMemoryHarness())
    }
}
