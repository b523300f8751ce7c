import Penstock
import PenstockCore
import PenstockSQL
import Testing

@testable import PenstockPostgres

@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct ReadOnlyTests {
    @Test func aStoreThatIsOnlyReadChangesNothing() async throws {
        let url = try PostgresServer.newURL()
        let options = PenstockStore.Options(access: .readOnly)
        await #expect { try await PenstockStore.open(postgres: url, options: options) } throws: {
            ($0 as? PenstockError)?.code == .notFound
        }
        let store = try await PenstockStore.open(postgres: url)
        try await store.queue("q").enqueue([1])
        let reader = try await PenstockStore.open(postgres: url, options: options)
        let queue = try await reader.queueAsStored("q")
        #expect(try await queue.status().depths.ready == 1)
        await #expect { try await queue.enqueue([2]) } throws: { ($0 as? PenstockError)?.code == .readOnly }
        await #expect { try await reader.storage.reclaim() } throws: { ($0 as? PenstockError)?.code == .readOnly }
        await #expect { try await reader.transaction { _ in } } throws: { ($0 as? PenstockError)?.code == .readOnly }
        #expect(try await reader.storage.storeID() == nil, "It was given none, and cannot be given one.")
        try await reader.close()
        await #expect { try await queue.enqueue([2]) } throws: { ($0 as? PenstockError)?.code == .closed }
        #expect(try await store.queue("q").status().depths.ready == 1)
        try await store.close()
    }

    /// Some have every role read only, unless a session says that it writes.
    @Test func aRoleThatOnlyReadsByItselfWritesAllTheSame() async throws {
        let url = try PostgresServer.newURL()
        let role = PostgresServer.newName()
        try ServerConnection(ServerAddress(url)).run(
            "CREATE ROLE \(role) LOGIN SUPERUSER; ALTER ROLE \(role) SET default_transaction_read_only = on")
        let store = try await PenstockStore.open(postgres: url.replacing("//penstock@", with: "//\(role)@"))
        try await store.queue("q").enqueue([1])
        #expect(try await store.queue("q").status().depths.ready == 1)
        try await store.close()
    }

    /// What a role has for its other programs is not what the store's statements were written for.
    @Test(arguments: [
        "default_transaction_isolation = 'serializable'", "bytea_output = 'escape'",
        "standard_conforming_strings = off",
    ])
    func aRoleWithSettingsOfItsOwnWritesAllTheSame(_ setting: String) async throws {
        let url = try PostgresServer.newURL()
        let role = PostgresServer.newName()
        try ServerConnection(ServerAddress(url)).run(
            "CREATE ROLE \(role) LOGIN SUPERUSER; ALTER ROLE \(role) SET \(setting)")
        let store = try await PenstockStore.open(postgres: url.replacing("//penstock@", with: "//\(role)@"))
        let queue = try await store.queue("q")
        try await queue.enqueue([1])
        let bytes = try await store.transaction { transaction in
            try queue.enqueue([2], in: transaction)
            return try transaction.query(#"SELECT '\x00ff'::bytea AS bytes"#)[0].bytes("bytes")
        }
        #expect(bytes == [0, 255])
        #expect(try await queue.status().depths.ready == 2)
        try await store.close()
    }

    /// What the server would hide is not missing without a word.
    @Test func aRoleFromWhichRowsAreHiddenIsRefused() async throws {
        let schema = try await SharedSchema()
        let role = PostgresServer.newName()
        try schema.server.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(schema.schema) TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA \(schema.schema) TO \(role)
            """)
        let url = schema.url.replacing("//penstock@", with: "//\(role)@")
        let reader = try await PostgresStore.open(url: url, options: .init(access: .readOnly))
        #expect(try await reader.status(of: nil).queues.map(\.name) == [schema.jobs])
        try schema.server.run("ALTER TABLE \(schema.schema).penstock_queue ENABLE ROW LEVEL SECURITY")
        await #expect { try await reader.status(of: nil) } throws: { ($0 as? PenstockError)?.code == .forbidden }
        try await reader.close()
        let found = try await PostgresStore.inspectHealth(url: url).findings
        #expect(found.contains { $0.kind == .unreadable && $0.message.contains("row-level security") })
        try await schema.store.close()
    }

    @Test func tablesAreMadeAndChangedAsTheOptionsSay() async throws {
        let url = try PostgresServer.newURL()
        await #expect { try await PostgresStore.open(url: url, options: .init(createIfMissing: false)) } throws: {
            ($0 as? PenstockError)?.code == .notFound
        }
        await #expect { try await PenstockStore.open(postgres: url, options: .init(createIfMissing: false)) } throws: {
            ($0 as? PenstockError)?.code == .notFound
        }
        // Tables that are not there are none of an older schema.
        try await PostgresStore.open(url: url, options: .init(migration: .refuse)).close()
        try await PostgresStore.open(url: url, options: .init(createIfMissing: false)).close()
    }

    /// Of programs of two releases those that only look go on: reading asks for nothing that an older schema, which it does not refuse, has not.
    @Test(arguments: SchemaMigrator.oldestReadable..<SchemaMigrator.newest)
    func anOlderSchemaIsReadAsItIs(version: Int) async throws {
        let url = try PostgresServer.newURL()
        let migrator = try SchemaMigrator(try ServerAddress(url), busyMax: .seconds(60))
        try migrator.migrate(to: version)
        let queue = try QueueName("jobs")
        try migrator.server.run("INSERT INTO penstock_queue (name) VALUES ('jobs')")
        try migrator.server.run("INSERT INTO penstock_messages (queue, payload) VALUES ('jobs', 'it')")
        let reader = try await PostgresStore.open(url: url, options: .init(access: .readOnly))
        let message = try #require(
            try await reader.messages(MessageQuery(withPayload: true, withAttempts: true)).first)
        #expect(message.state == .ready)
        for state in MessageState.allCases {
            let page = try await reader.messages(MessageQuery(states: [state], since: Timestamp(microseconds: 1)))
            #expect(page.count == (state == .ready ? 1 : 0))
        }
        let filter = MessageFilter(uniqueKey: "k", headers: ["n": "1"], payloadContains: "p", errorContains: "e")
        #expect(try await reader.messages(MessageQuery(matching: filter)).isEmpty)
        #expect(try await reader.deadGroups(DeadGroupQuery()).groups.isEmpty)
        #expect(try await reader.count(.queue(queue, states: [.dead]), for: .redrive) == 0)
        #expect(try await reader.status(of: queue).queues.first?.depths.ready == 1)
        #expect(try await reader.storeMove() == nil)
        #expect(try await reader.log(LogQuery(queue: queue, .last(1))).records.count == 1)
        #expect(try await reader.schedules(nil).isEmpty)
        _ = try await reader.waitReason(of: message.sequence)
        #expect(try await reader.groups(GroupQuery(queue: queue)).isEmpty)
        try await reader.close()
        #expect(try migrator.version() == version)
    }

    @Test func tablesOfAnOlderSchemaAreChangedAsTheOptionsSay() async throws {
        let url = try PostgresServer.newURL()
        try SchemaMigrator(try ServerAddress(url), busyMax: .seconds(60)).migrate(to: 13)
        await #expect { try await PostgresStore.open(url: url, options: .init(migration: .refuse)) } throws: {
            ($0 as? PenstockError)?.code == .olderSchema
        }
        await #expect { try await PenstockStore.open(postgres: url, options: .init(migration: .refuse)) } throws: {
            ($0 as? PenstockError)?.code == .olderSchema
        }
        try await PostgresStore.open(url: url, options: .init(createIfMissing: false)).close()
    }
}
