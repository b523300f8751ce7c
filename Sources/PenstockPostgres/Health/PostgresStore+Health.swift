public import PenstockCore
import PenstockProcesses
import PenstockSQL

extension PostgresStore {
    /// Inspects the store at `url` and the server that it is on, without opening it as a store, and changes nothing: what ruins
    /// a queue at a server, whether its workers get on, and whether its rows agree with each other. Reads all rows but for payloads, so it
    /// takes a while on a large store.
    ///
    /// What the role may not see, such as the states of others' sessions without `pg_monitor`, is passed over, and a note says so.
    ///
    /// - Parameters:
    ///   - url: as of ``open(url:options:)``. A standby will do.
    ///   - stuckAfter: for how long a living worker may hold one message before the report names it.
    /// - Throws: `PenstockError` with code `invalidInput`, `unreachable`, `forbidden` or `notFound`.
    public static func inspectHealth(url: String, stuckAfter: Duration = .seconds(3600)) async throws -> HealthReport {
        var bounds = HealthBounds()
        bounds.stuckAfter = stuckAfter
        return try await inspectHealth(url: url, bounds: bounds)
    }

    package static func inspectHealth(url: String, bounds: HealthBounds) async throws -> HealthReport {
        let address = try ServerAddress(url, access: .readOnly)
        return try await SystemThread.run {
            try ServerFailures.translating(address) {
                try DatabaseInspection(address: address, bounds: bounds).report()
            }
        }
    }
}
