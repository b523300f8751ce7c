import PenstockTestKit
import Testing

@Suite struct ConformanceTests {
    @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.all)
    func conforms(_ rule: ConformanceCase) async throws {
        try await rule.run(on: SQLiteHarness())
    }
}
