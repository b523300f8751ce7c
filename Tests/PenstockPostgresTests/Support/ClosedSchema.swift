import PenstockCore
import PenstockSQL

@testable import PenstockPostgres

/// A schema of its own with the queue `jobs` that no store has open, and a session of Penstock's own there.
struct ClosedSchema {
    let url: String
    let address: ServerAddress
    let jobs: QueueName
    let server: ServerConnection

    init() async throws {
        url = try PostgresServer.shared.get().url(schema: PostgresServer.newSchema())
        address = try ServerAddress(url)
        jobs = try QueueName("jobs")
        let store = try await PostgresStore.open(url: url)
        try await store.configure(jobs, .create(QueuePolicy(), ifAbsent: true))
        try await store.close()
        server = try Sessions.connect(to: address, busyMax: .seconds(5))
    }
}
