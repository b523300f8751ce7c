import PenstockCore

/// A group of a queue's messages.
struct Group {
    let account: QueueAccount
    let key: String

    var policy: GroupPolicy? { account.policy.groups }
    /// How many permits it has; 0 when the queue has no groups any more, and its messages need none.
    var permitCount: Int64 { policy.map { Int64($0.permitCount) } ?? 0 }
    var isInOrder: Bool { if case .fifo = policy { true } else { false } }
}

/// Which messages have the permits of a group.
///
/// Invariants after each COMMIT, for a group of a queue that has groups and without a row in `penstock_regroup`: its ready and leased messages have a permit;
/// others only as `GroupPolicy.keepsPermit` says; they are no more than the policy says, but for leases from before it said
/// less; and while one is free and the group is not paused, none is blocked.
enum Groups {
    static func key(of sequence: Int64, _ connection: Connection) throws -> String? {
        try connection.first(readKey, .integer(sequence)) { $0.text(0) } ?? nil
    }

    /// Sees to the permit of a message of a group that goes from where it is to `outcome`: instead of ready it is blocked when
    /// there is no permit for it.
    ///
    /// - Returns: the group, when the message lets its permit go, so that another one may have it.
    static func pass(
        _ entry: inout LineEntry, to outcome: inout Lifecycle.Outcome, in transaction: Transaction
    ) throws -> Group? {
        // Messages of a queue without groups need no permit; what they may still have is taken when their group is seen to.
        guard entry.account.policy.groups != nil,
            let key = try key(of: entry.sequence, transaction.connection)
        else { return nil }
        let group = Group(account: entry.account, key: key)
        if outcome.state == .ready {
            entry.marks.remove(.goesFirst)
            switch try admit(
                entry.sequence, to: group, isBegun: try isBegun(entry.sequence, outcome, transaction), in: transaction)
            {
            case .admitted: break
            case .waits: outcome.state = .blocked
            case .waitsFirst:
                outcome.state = .blocked
                entry.marks.insert(.goesFirst)
            }
            return nil
        }
        if GroupPolicy.keepsPermit(group.policy, in: outcome.state) { return nil }
        switch entry.state {
        case .ready, .leased, .scheduled, .dead:
            return try Permits.take(from: entry.sequence, group, transaction.connection) ? group : nil
        case .pending, .blocked, .done, .dropped, .cancelled:
            return nil
        }
    }

    /// What becomes of a message that is to be ready.
    enum Admission {
        /// It has a permit.
        case admitted
        /// It is blocked, in its place among the others.
        case waits
        /// It is blocked, and goes before all others of its group: it had the permit, and its work has begun.
        case waitsFirst
    }

    /// Gives message `sequence`, which is to be ready, a permit if there is one for it.
    ///
    /// - Parameter isBegun: whether its work has begun. Asked where that makes a difference.
    static func admit(
        _ sequence: Int64, to group: Group, isBegun: @autoclosure () throws -> Bool = false, in transaction: Transaction
    ) throws -> Admission {
        if group.policy == nil { return .admitted }
        let connection = transaction.connection
        let standing = try Permits.standing(of: sequence, group, connection)
        if standing.isHolder {
            let isBegun = try group.isInOrder && isBegun()
            let isEarlierBlocked =
                try group.isInOrder && !isBegun && standing.hasBlocked
                && Permits.firstBlocked(of: group, connection).map {
                    $0.marks.contains(.goesFirst) || $0.sequence < sequence
                } ?? false
            if !standing.isPaused, !isEarlierBlocked, !standing.isOverfull,
                try GroupRates.isOpen(group, besides: sequence, in: transaction)
            {
                return .admitted
            }
            // The group was paused meanwhile, is to have fewer permits, must not start yet, or an earlier one has become due.
            _ = try Permits.take(from: sequence, group, connection)
            if isEarlierBlocked { try permitNext(of: group, in: transaction) }
            return isBegun ? .waitsFirst : .waits
        }
        if standing.isPaused { return .waits }
        if !standing.hasBlocked, !standing.isFull {
            guard try GroupRates.isOpen(group, in: transaction) else { return .waits }
            try Permits.give(to: sequence, group, connection)
            return .admitted
        }
        guard let holder = try holderNotBegun(of: group, after: sequence, in: transaction) else { return .waits }
        try block(holder, group, in: transaction)
        try Permits.give(to: sequence, group, connection)
        return .admitted
    }

    /// Whether the work on a message has begun: an attempt counts, or a step of its handler is on record.
    private static func isBegun(
        _ sequence: Int64, _ outcome: Lifecycle.Outcome, _ transaction: Transaction
    ) throws -> Bool {
        try outcome.attempt > outcome.forgiven || Journals.hasSteps(sequence, transaction.connection)
    }

    /// In a group in order, the message that has the permit, if it comes after `sequence` and its work has not begun, not even a step
    /// of it: it lets an earlier one go first.
    private static func holderNotBegun(
        of group: Group, after sequence: Int64, in transaction: Transaction
    ) throws -> LineEntry? {
        guard group.isInOrder, let holder = try Permits.first(of: group, transaction.connection), holder > sequence,
            let entry = try Line.locate(holder, in: transaction), entry.state == .ready,
            entry.attempt == entry.forgiven, try !Journals.hasSteps(holder, transaction.connection)
        else { return nil }
        return entry
    }

    /// Gives a permit that is free to the message that is next.
    ///
    /// - Parameter row: when the group may start, if that was read in this transaction.
    /// - Returns: whether there was one.
    @discardableResult
    static func permitNext(
        of group: Group, knowing row: GroupRates.Row? = nil, in transaction: Transaction
    ) throws -> Bool {
        guard var next = try Permits.next(of: group, transaction.connection),
            try group.policy == nil || GroupRates.isOpen(group, knowing: row, in: transaction)
        else { return false }
        try Line.remove(next, in: transaction)
        next.marks.remove(.goesFirst)
        if group.policy != nil { try Permits.give(to: next.sequence, group, transaction.connection) }
        try place(next, .ready, in: transaction)
        group.account.ring(messages: 1)
        return true
    }

    /// Gives permits that are free to the messages that are next, up to `left` of them. None is left behind one with which it has used
    /// up the bytes that the transaction may have written anew, or its time.
    static func permitNext(of group: Group, _ left: inout Int, in transaction: Transaction) throws {
        let bytesBefore = transaction.bytesLeft
        while left > 0, try permitNext(of: group, in: transaction) {
            left = transaction.isUsedUp(since: bytesBefore) || transaction.isOverdue ? 0 : left - 1
        }
    }

    /// Takes the permits of dead letters that are about to be forgotten, and that hold their groups.
    ///
    /// - Returns: those groups.
    static func letGo(
        _ entries: ArraySlice<LineEntry>, _ account: QueueAccount, in transaction: Transaction
    ) throws -> [Group] {
        guard account.policy.groups == .fifo(onDead: .hold) else { return [] }
        return try entries.filter { $0.state == .dead }.compactMap { entry in
            guard let key = try key(of: entry.sequence, transaction.connection) else { return nil }
            let group = Group(account: account, key: key)
            return try Permits.take(from: entry.sequence, group, transaction.connection) ? group : nil
        }
    }

    /// Takes a ready message's permit, which thereby waits for another one.
    private static func block(_ entry: LineEntry, _ group: Group, in transaction: Transaction) throws {
        try Line.remove(entry, in: transaction)
        _ = try Permits.take(from: entry.sequence, group, transaction.connection)
        var entry = entry
        if group.isInOrder, try isBegun(entry.sequence, entry.outcome(.blocked), transaction) {
            entry.marks.insert(.goesFirst)
        }
        try place(entry, .blocked, in: transaction)
    }

    /// Takes the permits of messages that are ready, each of which counts as one that was moved.
    private static func blockReady(
        _ sequences: [Int64], _ group: Group, _ left: inout Int, mayStop: Bool, in transaction: Transaction
    ) throws {
        for (index, sequence) in sequences.enumerated() {
            if mayStop, index > 0, transaction.isOverdue {
                left = 0
                return
            }
            left -= 1
            guard let entry = try Line.locate(sequence, in: transaction), entry.state == .ready else { continue }
            try block(entry, group, in: transaction)
        }
    }

    private static func place(_ entry: LineEntry, _ state: MessageState, in transaction: Transaction) throws {
        entry.account.change.count(entry.state, -1)
        let outcome = entry.outcome(state)
        try Turns.leave(entry, outcome, in: transaction)
        try Line.insert(entry, outcome, in: transaction)
        entry.account.change.count(state, 1)
    }

    // MARK: Groups whose permits are to be given out anew

    /// Gives the permits of a queue's groups out anew for which that was noted, those of up to ``Limits/regroupCountMax``
    /// messages.
    ///
    /// - Returns: whether none is left to see to.
    static func settle(_ account: QueueAccount, in transaction: Transaction) throws -> Bool {
        var left = Limits.regroupCountMax
        while let key = try transaction.connection.first(firstNoted, .integer(account.id), read: { $0.text(0) ?? "" }) {
            if left <= 0 || left < Limits.regroupCountMax && transaction.isOverdue { return false }
            left -= 1
            guard try settle(Group(account: account, key: key), &left, in: transaction) else { return false }
            try transaction.connection.run(deleteNoted, .integer(account.id), .text(key))
        }
        return true
    }

    /// Gives the permits of a group out anew, as much as one transaction does; the next claim goes on with the rest.
    static func settleNow(_ group: Group, in transaction: Transaction) throws {
        var left = Limits.regroupCountMax
        if try !settle(group, &left, in: transaction) { try note(group, transaction.connection) }
        group.account.ring(messages: 1)
    }

    private static func settle(_ group: Group, _ left: inout Int, in transaction: Transaction) throws -> Bool {
        let connection = transaction.connection
        try GroupRates.reopen(group, in: transaction)
        if group.policy == nil {
            try Permits.takeAll(of: group, connection)
            try permitNext(of: group, &left, in: transaction)
            return left > 0
        }
        // A group that has many permits has them from when its queue had no groups. What is ready of it is blocked first, from the end of
        // the group on, so that no step reads them all.
        let countedMax = 2 * Int64(Limits.regroupCountMax) + 1
        var given = try Permits.given(of: group, upTo: countedMax, connection)
        if given > Limits.regroupCountMax {
            // Where the group is not in order, those with the highest numbers are not those that would come last. So all that are ready
            // are blocked, and the first of them have a permit again. The last two thousand go together: the next step could not tell
            // by fewer permits that the rest is to go as well.
            let last =
                try group.isInOrder
                ? Permits.tooMany(of: group, among: given, limit: left, connection)
                : Permits.lastByNumber(of: group, limit: given < countedMax ? Int(given) : left, connection)
            try blockReady(last, group, &left, mayStop: group.isInOrder, in: transaction)
            guard left > 0 else { return false }
            given = try Permits.given(of: group, upTo: countedMax, connection)
        }
        for sequence in try Permits.stray(of: group, limit: left, connection) {
            left -= 1
            if try Permits.take(from: sequence, group, connection) { given -= 1 }
        }
        guard left > 0 else { return false }
        let early = try GroupRates.tooEarly(group, limit: left, in: transaction)
        let late = try Permits.tooMany(of: group, among: given, limit: left, connection)
        try blockReady(early + late, group, &left, mayStop: true, in: transaction)
        try permitNext(of: group, &left, in: transaction)
        guard left > 0 else { return false }
        // One that goes before it may be blocked, as the group was not in order before.
        if group.isInOrder, try !Permits.isPaused(group, connection),
            let first = try Permits.firstBlocked(of: group, connection),
            let holder = try holderNotBegun(
                of: group, after: first.marks.contains(.goesFirst) ? 0 : first.sequence, in: transaction)
        {
            try block(holder, group, in: transaction)
            try permitNext(of: group, in: transaction)
        }
        return true
    }

    /// Whether permits of a queue's groups are to be given out anew.
    static func isNoted(_ queueID: Int64, _ connection: Connection) throws -> Bool {
        try connection.has(firstNoted, .integer(queueID))
    }

    /// Notes that the permits of a group are to be given out anew.
    static func note(_ group: Group, _ connection: Connection) throws {
        try connection.run(insertNoted, .integer(group.account.id), .text(group.key))
    }

    private static let readKey = Query("SELECT group_key FROM penstock_log WHERE sequence = ?1")
    private static let firstNoted = Query("SELECT group_key FROM penstock_regroup WHERE queue_id = ?1 LIMIT 1")
    private static let deleteNoted = Query("DELETE FROM penstock_regroup WHERE queue_id = ?1 AND group_key = ?2")
    private static let insertNoted = Query(
        "INSERT OR IGNORE INTO penstock_regroup (queue_id, group_key) VALUES (?1, ?2)")
}
