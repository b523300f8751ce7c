import PenstockConformance
import Testing

/// The rules that every store keeps. Each has a schema of its own.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct ConformanceTests {
    @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.all)
    func conforms(_ rule: ConformanceCase) async throws {
        try await rule.run(on: PostgresHarness())
    }
}
