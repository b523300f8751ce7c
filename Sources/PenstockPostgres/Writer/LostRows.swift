/// The rows in `penstock_writer` of connections that a process has lost: those of the last ones.
///
/// As the process ends it removes them, for which there is little time. Those of connections before are removed with all that nobody has
/// written to for a day, as a process behind a proxy that ends every session after an hour has thousands of them in a few months.
struct LostRows {
    /// How many are kept.
    static let countMax = 64

    /// The last ones first.
    private(set) var rows: [Int64] = []

    /// Adds the rows of a connection that was lost.
    mutating func add(_ lost: [Int64]) {
        rows.insert(contentsOf: lost.reversed(), at: 0)
        rows.removeLast(max(0, rows.count - Self.countMax))
    }
}
