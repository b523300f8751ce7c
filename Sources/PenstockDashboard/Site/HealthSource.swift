import Penstock
package import PenstockCore

/// What the doctor's page looks at, and how.
package struct HealthSource: Sendable {
    /// The path of the file, or the address of the database as people are told of it: no password is in it.
    package let place: String
    package let isFile: Bool
    /// Looks, and changes nothing.
    package let inspect: @Sendable () async throws -> HealthReport

    /// The path of the file, where it is one.
    package var filePath: String? { isFile ? place : nil }

    /// A file.
    package init(path: String) {
        place = path
        isFile = true
        inspect = { try await PenstockStore.inspectHealth(path: path) }
    }

    /// A database and its server.
    package init(database place: String, inspect: @escaping @Sendable () async throws -> HealthReport) {
        self.place = place
        isFile = false
        self.inspect = inspect
    }
}
