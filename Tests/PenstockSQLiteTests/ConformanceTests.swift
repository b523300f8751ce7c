import PenstockTestKit
import Testing

/// One case after the other: each has several processes' worth of files open.
@Suite(.serialized) struct ConformanceTests {
    @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.all)
    func conforms(_ rule: ConformanceCase) async throws {
        try await rule.run(on: SQLiteHarness())
    }
}
