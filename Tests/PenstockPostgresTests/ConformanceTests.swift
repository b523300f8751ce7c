import PenstockConformance
import Testing

/// The rules that every store keeps. Each has a schema of its own.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct ConformanceTests {
    /// The rules that take longest, which are the last ones, begin first: behind the others they would run alone. Of random graphs the
    /// first hundred and the largest are enough here: what they are to find wrong is in statements that the store on files has too.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: Array(ConformanceCase.all.filter { !left.contains($0.testDescription) }.reversed()))
    func conforms(_ rule: ConformanceCase) async throws {
        try await rule.run(on: PostgresHarness())
    }

    @Test func theRulesThatAreLeftExist() {
        #expect(Self.left.isSubset(of: ConformanceCase.all.map(\.testDescription)))
    }

    private static let left = Set(
        ["101...120", "121...140", "141...160", "161...180"].map {
            "workflow: random graphs begin in order and end, seeds \($0)"
        })
}
