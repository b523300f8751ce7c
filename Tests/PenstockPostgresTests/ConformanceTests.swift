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

    /// Each ring that a rule waits for is given, and no look at the server makes up for it.
    @Test(.timeLimit(.minutes(5)), arguments: ConformanceCase.rings)
    func rings(_ rule: ConformanceCase) async throws {
        try await rule.run(on: PostgresHarness(hearsRingsAlone: true))
    }
}
