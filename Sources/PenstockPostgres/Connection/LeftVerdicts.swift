import PenstockSQL

/// Removes the rows of verdicts that nobody will ask for any more: those of workers that have said them in SQL and have not settled within
/// a day, as a client in another language never does.
///
/// There may be millions of rows, no index tells their age, and a process that looks has the writer lock, or is about to write. So a look goes
/// over a bounded number of keys: over the first ones, which are mostly the oldest, and over some from where the look before has stopped, as
/// messages that have waited for long are among them. So many verdicts that are carried out make for a look at three times as many keys, so
/// that more go than come.
struct LeftVerdicts {
    /// The last key that was looked at of those that are not the first.
    private var place = LeftVerdicts.first
    /// How many verdicts were carried out since the last look.
    private var count = 0

    /// After so many there is a look: one after each would cost as much as the verdict.
    private static let lookEvery = 500
    private static let keysOfOne = 3
    /// How many keys a new connection looks at.
    static let keysMax = lookEvery * keysOfOne

    /// Counts verdicts that were carried out, and looks when it is time.
    mutating func carriedOut(_ count: Int, _ connection: Connection) throws {
        self.count += count
        if self.count < Self.lookEvery { return }
        try look(at: self.count * Self.keysOfOne, connection)
        self.count = 0
    }

    /// Looks at `keysMax` keys: half of them the first ones, half of them the next ones. Behind the last one it begins anew.
    mutating func look(at keysMax: Int, _ connection: Connection) throws {
        _ = try Self.remove(after: Self.first, keysMax / 2, connection)
        place = try Self.remove(after: place, keysMax / 2, connection) ?? Self.first
    }

    /// - Returns: the last of these keys; `nil`: there were not so many.
    private static func remove(
        after place: Place, _ count: Int, _ connection: Connection
    ) throws -> Place? {
        let last = try connection.first(
            selectLast, .integer(place.sequence), .integer(place.token), .integer(Int64(count - 1))
        ) { Place(sequence: $0.integer(0), token: $0.integer(1)) }
        let end = last ?? Place(sequence: .max, token: .max)
        try connection.run(
            delete, .integer(place.sequence), .integer(place.token), .integer(end.sequence), .integer(end.token))
        return last
    }

    /// A key of the table.
    private struct Place {
        var sequence: Int64
        var token: Int64
    }

    private static let first = Place(sequence: .min, token: .min)
    private static let selectLast = Query(
        """
        SELECT sequence, token FROM penstock_verdict WHERE (sequence, token) > (?1, ?2)
        ORDER BY sequence, token LIMIT 1 OFFSET ?3
        """)
    private static let delete = Query(
        """
        DELETE FROM penstock_verdict WHERE (sequence, token) > (?1, ?2) AND (sequence, token) <= (?3, ?4)
            AND state IS NOT NULL AND said_at < penstock_now() - 86400000000
        """)
}
