import PenstockCore
import PenstockSQL
import Testing

@testable import PenstockPostgres

/// A schema that has another name than when its functions were made.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct RenamedSchemaTests {
    private let before: ClosedSchema
    private let schema: String
    private let url: String

    init() async throws {
        before = try await ClosedSchema()
        // PostgreSQL writes such a name with quotes.
        schema = PostgresServer.newName() + ", \"Shop"
        let name = schema.replacing(", \"", with: "%2C%20%22")
        url = try PostgresServer.shared.get().url(schema: name)
        try before.server.run(
            "ALTER SCHEMA \(before.address.schema) RENAME TO \(ServerConnection.quoted(name: schema))")
    }

    private func count(in schema: String) throws -> String {
        try before.server.run("SELECT count(*) FROM \(ServerConnection.quoted(name: schema)).penstock_log").text(0, 0)
    }

    @Test func itIsRefusedUntilItWasMigrated() async throws {
        for access in [StoreAccess.readWrite, .readOnly] {
            let error = await #expect(throws: PenstockError.self) {
                _ = try await PostgresStore.open(url: url, options: .init(access: access))
            }
            #expect(error?.code == .olderSchema)
            #expect(error?.message.contains("`penstock migrate`") == true)
        }
        let found = try await PostgresStore.inspectHealth(url: url).findings
        #expect(found.contains { $0.kind == .wrongSchema && $0.severity == .error }, "\(found.map(\.message))")
        #expect(try await PostgresStore.migrate(url: url).isEmpty)
        let after = try await PostgresStore.inspectHealth(url: url).findings
        #expect(!after.contains { $0.kind == .wrongSchema }, "\(after.map(\.message))")
        try await PostgresStore.open(url: url).close()
    }

    @Test func aStoreOfTheNameBeforeGetsNothingOfIts() async throws {
        let other = try await PostgresStore.open(url: before.url)
        try await other.configure(before.jobs, .create(QueuePolicy(), ifAbsent: true))
        #expect(try await PostgresStore.migrate(url: url).isEmpty)
        try before.server.run(
            """
            INSERT INTO \(ServerConnection.quoted(name: schema)).penstock_messages (queue, payload)
            VALUES ('\(before.jobs)', 'a')
            """)
        #expect(try count(in: schema) == "1")
        #expect(try count(in: before.address.schema) == "0")
        try await other.close()
    }
}
