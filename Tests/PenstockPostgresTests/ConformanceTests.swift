import PenstockConformance
import Testing

/// The rules that every store keeps. Each has a schema of its own.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct ConformanceTests {
    /// The rules that take longest, which are the last ones, begin first: behind the others they would run alone.
    @Test(.timeLimit(.minutes(5)), arguments: Array(ConformanceCase.all.reversed()))
    func conforms(_ rule: ConformanceCase) async throws {
        try await rule.run(on: PostgresHarness())
    }
}
