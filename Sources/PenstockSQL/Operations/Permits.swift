import PenstockCore

/// The rows of `penstock_permit`, and what is asked of a group at once.
enum Permits {
    /// How a group stands as one of its messages asks for a permit.
    struct Standing {
        var isPaused: Bool
        /// Whether all permits are given.
        var isFull: Bool
        /// Whether more are given than there are, since there were more before.
        var isOverfull: Bool
        /// Whether the message that asks has one.
        var isHolder: Bool
        var hasBlocked: Bool
    }

    static func standing(of sequence: Int64, _ group: Group, _ connection: Connection) throws -> Standing {
        try connection.first(
            readStanding, .integer(group.account.id), .text(group.key), .integer(sequence),
            .integer(group.permitCount)
        ) { row in
            Standing(
                isPaused: row.integer(0) != 0, isFull: row.integer(1) != 0, isOverfull: row.integer(2) != 0,
                isHolder: row.integer(3) != 0, hasBlocked: row.integer(4) != 0)
        } ?? Standing(isPaused: false, isFull: false, isOverfull: false, isHolder: false, hasBlocked: false)
    }

    static func give(to sequence: Int64, _ group: Group, _ connection: Connection) throws {
        try connection.run(insert, .integer(group.account.id), .text(group.key), .integer(sequence))
    }

    /// Takes the permit of message `sequence`.
    ///
    /// - Returns: whether it had one.
    static func take(from sequence: Int64, _ group: Group, _ connection: Connection) throws -> Bool {
        try connection.run(delete, .integer(group.account.id), .text(group.key), .integer(sequence))
        return try connection.changesCount() > 0
    }

    /// How many permits of a group are free for messages that come behind all that wait.
    static func free(of group: Group, _ connection: Connection) throws -> Int64 {
        let standing = try standing(of: 0, group, connection)
        if standing.isPaused || standing.hasBlocked || standing.isFull { return 0 }
        return group.permitCount - (try given(of: group, upTo: group.permitCount, connection))
    }

    /// The message of a group with the lowest number that has a permit.
    static func first(of group: Group, _ connection: Connection) throws -> Int64? {
        try connection.integer(readFirst, .integer(group.account.id), .text(group.key))
    }

    static func isPaused(_ group: Group, _ connection: Connection) throws -> Bool {
        try connection.has(readPause, .integer(group.account.id), .text(group.key))
    }

    /// The blocked message that has the next permit; `nil` when there is none, or no permit is free.
    static func next(of group: Group, _ connection: Connection) throws -> LineEntry? {
        if group.policy == nil { return try firstBlocked(of: group, connection) }
        let isFree = try connection.integer(
            readIsFree, .integer(group.account.id), .text(group.key), .integer(group.permitCount))
        return isFree == 1 ? try firstBlocked(of: group, connection) : nil
    }

    /// The blocked message of a group that comes first. If the group is in order, that is one that ``Marks/goesFirst``, or else the
    /// one with the lowest number; otherwise the one with the highest priority.
    ///
    /// They lie by priority and then by sequence, so the lowest number of each priority is one probe; most groups know one
    /// priority only.
    static func firstBlocked(of group: Group, _ connection: Connection) throws -> LineEntry? {
        func entry(_ row: PreparedStatement) -> LineEntry {
            LineEntry(
                sequence: row.integer(0), account: group.account, state: .blocked, priority: row.integer(1),
                attempt: row.integer(2), forgiven: row.integer(3), marks: Marks(rawValue: row.integer(4)))
        }
        if group.isInOrder,
            let begun = try connection.first(
                readGoesFirst, .integer(group.account.id), .text(group.key), read: entry)
        {
            return begun
        }
        var first: LineEntry?
        var above = Int64(Limits.priorityRange.upperBound) + 1
        while let found = try connection.first(
            readBlocked, .integer(group.account.id), .text(group.key), .integer(above), read: entry)
        {
            if first.map({ found.sequence < $0.sequence }) ?? true { first = found }
            if !group.isInOrder { break }
            above = found.priority
        }
        return first
    }

    /// Takes all permits of a group, whose queue has no groups any more.
    static func takeAll(of group: Group, _ connection: Connection) throws {
        try connection.run(deleteAll, .integer(group.account.id), .text(group.key))
    }

    /// Messages that have a permit which none keeps where they are, up to `limit` of them.
    static func stray(of group: Group, limit: Int, _ connection: Connection) throws -> [Int64] {
        func keeps(_ state: MessageState) -> Value {
            .integer(GroupPolicy.keepsPermit(group.policy, in: state) ? 1 : 0)
        }
        return try connection.all(
            readStray, .integer(group.account.id), .text(group.key), .integer(Int64(limit)), keeps(.scheduled),
            keeps(.dead)
        ) { $0.integer(0) }
    }

    /// Ready messages of a group that have a permit which the group does not have any more, up to `limit` of them: those that
    /// would come last.
    ///
    /// - Parameter given: how many permits are given.
    static func tooMany(
        of group: Group, among given: Int64, limit: Int, _ connection: Connection
    ) throws -> [Int64] {
        let count = try isPaused(group, connection) ? 0 : group.permitCount
        return given > count ? try last(min(given - count, Int64(limit)), of: group, connection) : []
    }

    /// Ready messages of a group that have a permit, up to `limit` of them: those with the highest numbers.
    static func lastByNumber(of group: Group, limit: Int, _ connection: Connection) throws -> [Int64] {
        try connection.all(
            readLastInOrder, .integer(group.account.id), .text(group.key), .integer(Int64(limit))
        ) { $0.integer(0) }
    }

    /// Whether a message of a group other than `sequence` has a permit while no worker has it.
    static func hasUnclaimed(_ group: Group, besides sequence: Int64, _ connection: Connection) throws -> Bool {
        try connection.has(anyUnclaimed, .integer(group.account.id), .text(group.key), .integer(sequence))
    }

    /// Whether those that have permits of a group keep `sequence` from one: none is free or, where the group has a rate, a worker is to take
    /// another one first.
    static func keepOut(_ sequence: Int64, of group: Group, _ connection: Connection) throws -> Bool {
        if group.policy == nil { return false }
        if try given(of: group, upTo: group.permitCount, connection) >= group.permitCount { return true }
        return try group.account.policy.ratePerKey != nil && hasUnclaimed(group, besides: sequence, connection)
    }

    /// Ready messages of a group beyond `count`, up to `limit` of them: those that would come last.
    static func lastReady(
        of group: Group, beyond count: Int64, limit: Int, _ connection: Connection
    ) throws -> [Int64] {
        let ready = try connection.integer(countReady, .integer(group.account.id), .text(group.key))
        guard let ready, ready > count else { return [] }
        return try last(min(ready - count, Int64(limit)), of: group, connection)
    }

    /// So many ready messages of a group that have a permit: those that would come last.
    private static func last(_ count: Int64, of group: Group, _ connection: Connection) throws -> [Int64] {
        try connection.all(
            group.isInOrder ? readLastInOrder : readLast, .integer(group.account.id), .text(group.key), .integer(count)
        ) { $0.integer(0) }
    }

    static func given(of group: Group, upTo most: Int64, _ connection: Connection) throws -> Int64 {
        try connection.integer(count, .integer(group.account.id), .text(group.key), .integer(most)) ?? 0
    }

    private static let isOfGroup = "queue_id = ?1 AND group_key = ?2"
    private static let readStanding = Query(
        """
        SELECT EXISTS (SELECT 1 FROM penstock_group_pause WHERE \(isOfGroup)),
            EXISTS (SELECT 1 FROM penstock_permit WHERE \(isOfGroup) LIMIT 1 OFFSET ?4 - 1),
            EXISTS (SELECT 1 FROM penstock_permit WHERE \(isOfGroup) LIMIT 1 OFFSET ?4),
            EXISTS (SELECT 1 FROM penstock_permit WHERE \(isOfGroup) AND sequence = ?3),
            EXISTS (SELECT 1 FROM penstock_blocked WHERE \(isOfGroup))
        """)
    private static let readIsFree = Query(
        """
        SELECT NOT EXISTS (SELECT 1 FROM penstock_group_pause WHERE \(isOfGroup))
            AND NOT EXISTS (SELECT 1 FROM penstock_permit WHERE \(isOfGroup) LIMIT 1 OFFSET ?3 - 1)
        """)
    private static let insert = Query(
        "INSERT OR IGNORE INTO penstock_permit (queue_id, group_key, sequence) VALUES (?1, ?2, ?3)")
    private static let delete = Query("DELETE FROM penstock_permit WHERE \(isOfGroup) AND sequence = ?3")
    private static let readFirst = Query(
        "SELECT sequence FROM penstock_permit WHERE \(isOfGroup) ORDER BY sequence LIMIT 1")
    private static let readPause = Query("SELECT 1 FROM penstock_group_pause WHERE \(isOfGroup)")
    private static let readBlocked = Query(
        """
        SELECT sequence, priority, attempt, forgiven, marks FROM penstock_blocked
        WHERE \(isOfGroup) AND priority < ?3 ORDER BY priority DESC, sequence LIMIT 1
        """)
    private static let readGoesFirst = Query(
        """
        SELECT sequence, priority, attempt, forgiven, marks FROM penstock_blocked INDEXED BY penstock_blocked_first
        WHERE \(isOfGroup) AND marks & \(Marks.goesFirst.rawValue) ORDER BY sequence LIMIT 1
        """)
    private static let count = Query(
        "SELECT count(*) FROM (SELECT 1 FROM penstock_permit WHERE \(isOfGroup) LIMIT ?3) AS counted")
    private static let joinReady = """
        FROM penstock_permit AS permit JOIN penstock_log AS log ON log.sequence = permit.sequence
        JOIN penstock_ready AS ready ON ready.queue_id = log.queue_id AND ready.priority = log.priority
            AND ready.turn = log.turn AND ready.sequence = log.sequence
        WHERE permit.queue_id = ?1 AND permit.group_key = ?2
        """
    private static let countReady = Query("SELECT count(*) \(joinReady)")
    private static let anyUnclaimed = Query(
        """
        SELECT 1 FROM penstock_permit AS permit WHERE queue_id = ?1 AND group_key = ?2 AND sequence <> ?3
        AND NOT EXISTS (SELECT 1 FROM penstock_lease AS lease WHERE lease.sequence = permit.sequence) LIMIT 1
        """)
    private static let deleteAll = Query("DELETE FROM penstock_permit WHERE \(isOfGroup)")
    private static let readStray = Query(
        """
        SELECT permit.sequence FROM penstock_permit AS permit
        LEFT JOIN penstock_log AS log ON log.sequence = permit.sequence
        WHERE permit.queue_id = ?1 AND permit.group_key = ?2
        AND NOT EXISTS (SELECT 1 FROM penstock_lease AS lease WHERE lease.sequence = permit.sequence)
        AND NOT EXISTS (SELECT 1 FROM penstock_ready AS ready WHERE ready.queue_id = log.queue_id
            AND ready.priority = log.priority AND ready.turn = log.turn AND ready.sequence = log.sequence)
        AND NOT (?4 <> 0 AND EXISTS (SELECT 1 FROM penstock_scheduled AS line WHERE line.sequence = permit.sequence))
        AND NOT (?5 <> 0 AND EXISTS (SELECT 1 FROM penstock_outcome AS line WHERE line.queue_id = permit.queue_id
            AND line.sequence = permit.sequence AND line.state = 'dead'))
        LIMIT ?3
        """)
    private static let readLastInOrder = Query(
        "SELECT permit.sequence \(joinReady) ORDER BY permit.sequence DESC LIMIT ?3")
    private static let readLast = Query(
        "SELECT permit.sequence \(joinReady) ORDER BY log.priority, permit.sequence DESC LIMIT ?3")
}
