import PenstockCore
import PenstockSQL
import Testing

@testable import PenstockPostgres

/// Texts of plain SQL that come from columns with an order of their own.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct CollationTests {
    private let shared: SharedSchema
    private var server: ServerConnection { shared.server }

    init() async throws {
        shared = try await SharedSchema()
        try shared.server.run(
            """
            SET search_path = \(shared.schema);
            CREATE COLLATION shop (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
            CREATE TABLE shop_text (own TEXT COLLATE "POSIX", loose TEXT COLLATE shop);
            INSERT INTO shop_text VALUES ('own', 'loose')
            """)
    }

    @Test(arguments: ["own", "loose"])
    func functionsTakeThem(_ column: String) async throws {
        try server.run("SELECT penstock_enqueue('jobs', \(column)) FROM shop_text")
        try server.run(
            """
            SELECT penstock_enqueue('jobs', 'a', unique_key => \(column), headers => '{"a":"b"}') FROM shop_text;
            SELECT penstock_enqueue('jobs', 'a'::BYTEA, unique_key => \(column) || '2') FROM shop_text
            """)
        let store = shared.store
        let claimed = try await store.claim(ClaimRequest(queue: shared.jobs, limit: 9, lease: .seconds(30))).messages
        #expect(claimed.map { String(decoding: $0.payload, as: UTF8.self) } == [column, "a", "a"])
        let lease = try #require(claimed.first).lease
        try server.run("SELECT penstock_done(\(lease.sequence), \(lease.token.rawValue), \(column)) FROM shop_text")
        let result = try server.run("SELECT convert_from(result, 'UTF8') FROM penstock_verdict").text(0, 0)
        #expect(result == column)
        try await store.close()
    }

    /// What was refused before is refused still.
    @Test(arguments: [
        ("'jobs', '\\x00'", "payload must be text here"), ("'none', 'a'", "there is no queue of that name"),
        ("'jobs', 'a', 101", "priority must be an integer"), ("'jobs', 'a'::BYTEA, NULL, 0", "attempts_max must be"),
    ])
    func functionsRefuseAsBefore(_ values: String, _ words: String) async throws {
        #expect {
            try server.run("SELECT penstock_enqueue(\(values))")
        } throws: {
            ($0 as? ServerError)?.message.contains(words) == true
        }
        try await shared.store.close()
    }
}
