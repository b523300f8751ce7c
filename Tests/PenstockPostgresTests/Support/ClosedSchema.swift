import PenstockCore

@testable import PenstockPostgres

/// A schema of its own with the queue `jobs` that no store has open, and a session of Penstock's own there.
struct ClosedSchema {
    let url: String
    let address: ServerAddress
    let jobs: QueueName
    let server: ServerConnection

    init() async throws {
        let schema = try await SharedSchema()
        try await schema.store.close()
        (url, jobs) = (schema.url, schema.jobs)
        address = try ServerAddress(url)
        server = try Sessions.connect(to: address, busyMax: .seconds(60))
        // A test holds a lock until what it waits for has come, however long that takes.
        try server.run("SET idle_in_transaction_session_timeout = 0")
    }
}
