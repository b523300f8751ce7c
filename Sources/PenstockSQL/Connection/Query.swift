import Synchronization

/// One fixed SQL statement. Each connection prepares it once, on first use, and keeps it.
package struct Query: Sendable {
    /// Its index in a connection's table of prepared statements.
    let index: Int
    package let sql: String
    /// What a server is asked, which may know more of its tables.
    let serverSQL: String

    private static let count = Atomic<Int>(0)

    /// Makes a statement. Called for `static let` constants only, so the number of statements is fixed.
    ///
    /// - Parameter server: another text for servers.
    package init(_ sql: String, server: String? = nil) {
        index = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
        self.sql = sql
        serverSQL = server ?? sql
    }
}
