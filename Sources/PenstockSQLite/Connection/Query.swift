import Synchronization

/// One fixed SQL statement. Each connection prepares it once, on first use, and keeps it.
struct Query: Sendable {
    /// Its index in a connection's table of prepared statements.
    let index: Int
    let sql: String

    private static let count = Atomic<Int>(0)

    /// Makes a statement. Called for `static let` constants only, so the number of statements is fixed.
    init(_ sql: String) {
        index = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
        self.sql = sql
    }
}
