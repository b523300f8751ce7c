import PenstockSQL

/// Removes the rows of verdicts that nobody will ask for any more: those of workers that have said them in SQL and have not settled within
/// a day, as a client in another language never does.
///
/// There may be millions of rows, no index tells their age, and whoever looks has the writer lock, or is about to write. So a look goes over a
/// bounded number of keys, from where the one before has stopped, and so many verdicts that are carried out make for a look at three times as
/// many keys: then there are never more than about twice the rows of a day.
struct LeftVerdicts {
    /// The last key that was looked at.
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

    /// Looks at the next `keysMax` keys, or at those to the end, behind which the next look begins anew.
    mutating func look(at keysMax: Int, _ connection: Connection) throws {
        let end = try connection.first(
            Self.selectEnd, .integer(place.sequence), .integer(place.token), .integer(Int64(keysMax - 1))
        ) { (sequence: $0.integer(0), token: $0.integer(1)) }
        let last = end ?? (sequence: Int64.max, token: Int64.max)
        try connection.run(
            Self.delete, .integer(place.sequence), .integer(place.token), .integer(last.sequence), .integer(last.token))
        place = end ?? Self.first
    }

    private static let first = (sequence: Int64.min, token: Int64.min)
    private static let selectEnd = Query(
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
