import PenstockConformance
import Testing

/// One case after the other: each has several processes' worth of connections open.
@Suite(.serialized, .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct ConformanceTests {
    @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.all)
    func conforms(_ rule: ConformanceCase) async throws {
        try await rule.run(on: PostgresHarness())
    }
}
