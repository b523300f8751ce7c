import PenstockCore
import PenstockSQL

@testable import PenstockPostgres

/// A schema of its own with the queue `jobs`, a store on it, and beside that an application's connection, which knows nothing of the
/// schema.
struct SharedSchema {
    let url: String
    let schema: String
    let server: ServerConnection
    let store: PostgresStore
    let jobs: QueueName

    init() async throws {
        url = try PostgresServer.newURL()
        let address = try ServerAddress(url)
        schema = address.schema
        store = try await PostgresStore.open(url: url)
        jobs = try QueueName("jobs")
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        server = try ServerConnection(address)
    }
}
