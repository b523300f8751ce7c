import PenstockCore

/// Finds what is beyond a queue's retention in a file that has tasks of workflows.
///
/// A task that its workflow may still need is passed over. There may be many of these, so one transaction looks at a bounded
/// number of rows, and the next one goes on where it stopped.
struct RetentionLook {
    /// How far a look at a queue has come.
    struct Place: Sendable {
        /// The last row of a kind that was looked at.
        struct Mark: Sendable {
            var finishedAt = Int64.min
            var sequence = Int64.min
        }

        var queue: QueueName
        /// Of those beyond the count.
        var first = Mark()
        /// How many of those were passed over: no younger message goes in their place.
        var passedCount: Int64 = 0
        var ended = Mark()
        var died = Mark()
        /// Up to where all that is left of what has ended is kept by dead letters, which may be so for good.
        var keptByDead = Mark()
        /// Whether something behind that is kept for as long as its workflow goes on, or until it is told.
        var isPastOthers = false
        /// Workflows whose tasks stay. That one was to be kept is the answer of an earlier transaction: it can be out of date,
        /// and then the next pruning takes them. The other answer is asked for again in each.
        var openWorkflows: Set<Int64> = []
        var deadWorkflows: Set<Int64> = []
        /// When a look that has come here by several of them began at the first row; `nil`: this one did.
        var beganAt: BootTime?

        /// From where another look may go on for a while, as all rows before it that are left are kept by dead letters; `nil`: there are
        /// none. Messages end with later times, so none comes to lie before it. Those beyond a count do, and are looked at from the
        /// first one, as are dead letters, which do not keep each other.
        func kept(at now: BootTime) -> Place? {
            if keptByDead.finishedAt == .min { return nil }
            var kept = Place(queue: queue)
            (kept.ended, kept.keptByDead, kept.beganAt) = (keptByDead, keptByDead, beganAt ?? now)
            return kept
        }

        /// Takes where a look has come to among what has ended.
        mutating func pass(_ need: Need) {
            if need == .ofOthers { isPastOthers = true }
            if !isPastOthers { keptByDead = ended }
        }
    }

    /// What needs a message, if anything does.
    enum Need {
        case nothing
        /// Its workflow has a dead letter, and nothing else is known to be in the way.
        case ofDeadLetter
        /// Its workflow goes on, or is still to be told.
        case ofOthers
    }

    private struct Row {
        var sequence: Int64
        var state: MessageState
        var finishedAt: Int64
        var workflowID: Int64?
        var isUntold: Bool
    }

    /// Rows that one statement reads at most.
    private static let pageMax = 1000

    private(set) var place: Place
    /// Whether the look stopped because it had looked at enough.
    private(set) var isSpent = false
    private var rowsLeft: Int
    /// Tasks that may still be looked through for what keeps their workflow.
    private var tasksLeft: Int
    /// Whether a workflow with more tasks than that is looked through all the same. Something has to come of a pruning; an append
    /// passes such a workflow over.
    private let looksThroughLarge: Bool
    /// Workflows all of whose tasks have ended, as this transaction has found, and whether one of those is a dead letter.
    private var endedWorkflows: [Int64: Bool] = [:]

    /// What one step of a pruning looks at.
    init(at place: Place) {
        (self.place, rowsLeft, tasksLeft, looksThroughLarge) = (place, 10_000, 20_000, true)
    }

    /// What one append to a full log looks at. What is hidden from it is left to the next pruning.
    init(besideAppendTo queue: QueueName) {
        (place, rowsLeft, tasksLeft, looksThroughLarge) = (Place(queue: queue), 1000, 2000, false)
    }

    /// Goes on with the next queue.
    ///
    /// - Parameter kept: where to begin there; `nil`: with the first row.
    mutating func begin(_ queue: QueueName, from kept: Place?) {
        guard place.queue != queue else { return }
        place = kept ?? Place(queue: queue)
        // A dead letter that kept others may have gone with the queue before.
        endedWorkflows = [:]
    }

    /// Up to `limit` messages of the queue that are beyond its retention and not needed, in order.
    mutating func outlived(
        _ account: QueueAccount, _ retention: Retention, limit: Int, in transaction: Transaction
    ) throws -> [LineEntry] {
        var found: [LineEntry] = []
        if let count = retention.count {
            let excess = try Pruning.keptCount(account, in: transaction) - Int64(count) - place.passedCount
            let (entries, passedCount) = try search(
                Self.selectFirst, \.first, account, moment: 0, rowsMax: excess, limit: limit, in: transaction)
            place.passedCount += passedCount
            found += entries
        }
        for (age, query, mark) in [
            (retention.age, Self.selectEnded, \Place.ended), (retention.deadAge, Self.selectDied, \Place.died),
        ] {
            guard let age else { continue }
            let moment = (transaction.now - age).microseconds
            found += try search(query, mark, account, moment: moment, rowsMax: .max, limit: limit, in: transaction)
                .found
        }
        return Pruning.together(found, limit: limit)
    }

    /// Goes through the rows of one kind from its mark on, up to `rowsMax` of them.
    private mutating func search(
        _ query: Query, _ mark: WritableKeyPath<Place, Place.Mark>, _ account: QueueAccount, moment: Int64,
        rowsMax: Int64, limit: Int, in transaction: Transaction
    ) throws -> (found: [LineEntry], passedCount: Int64) {
        var found: [LineEntry] = []
        var passedCount: Int64 = 0
        let isOfEnded = mark == \Place.ended
        while found.count < limit, !isSpent {
            let pageCount = min(rowsMax - passedCount - Int64(found.count), Int64(Self.pageMax))
            if pageCount <= 0 { break }
            let rows = try transaction.connection.all(
                query, .integer(account.id), .integer(moment), .integer(place[keyPath: mark].finishedAt),
                .integer(place[keyPath: mark].sequence), .integer(pageCount), read: Self.read)
            for row in rows where found.count < limit {
                guard rowsLeft > 0, let need = try need(of: row, in: transaction) else {
                    isSpent = true
                    break
                }
                rowsLeft -= 1
                place[keyPath: mark] = Place.Mark(finishedAt: row.finishedAt, sequence: row.sequence)
                if isOfEnded { place.pass(need) }
                if need != .nothing {
                    passedCount += 1
                } else {
                    found.append(LineEntry(ended: row.sequence, row.state, account))
                }
            }
            if rows.count < pageCount { break }
        }
        return (found, passedCount)
    }

    private static func read(_ row: PreparedStatement) -> Row {
        Row(
            sequence: row.integer(0), state: row.text(1).flatMap(MessageState.init) ?? .done,
            finishedAt: row.integer(2), workflowID: row.optionalInteger(3), isUntold: row.integer(4) != 0)
    }

    /// Why a task stays: while its workflow has a task that has not ended, or a dead letter, whose redrive brings back what
    /// was cancelled and needs what others gave. Dead letters do not keep each other.
    ///
    /// - Returns: `nil` when that cannot be said without looking at more than one transaction does.
    private mutating func need(of row: Row, in transaction: Transaction) throws -> Need? {
        guard let id = row.workflowID else { return .nothing }
        // Those that wait for it are still to be told what became of it.
        if row.isUntold || transaction.cascade.isNoted(row.sequence) { return .ofOthers }
        if place.openWorkflows.contains(id) { return .ofOthers }
        if endedWorkflows[id] == nil {
            // What was noted of a dead letter's own workflow may be of another transaction.
            if place.deadWorkflows.contains(id), row.state != .dead { return .ofDeadLetter }
            if tasksLeft <= 0 { return nil }
            guard let hasDead = try hasDead(id, isEnough: row.state != .dead, transaction.connection) else {
                place.openWorkflows.insert(id)
                return .ofOthers
            }
            if hasDead {
                place.deadWorkflows.insert(id)
                if row.state != .dead { return .ofDeadLetter }
            }
            endedWorkflows[id] = hasDead
        }
        return endedWorkflows[id] == true && row.state != .dead ? .ofDeadLetter : .nothing
    }

    /// Whether a workflow has a dead letter; `nil` when one of its tasks has not ended, or it is too large to say.
    ///
    /// - Parameter isEnough: whether nobody asks for the other tasks where there is one.
    private mutating func hasDead(_ id: Int64, isEnough: Bool, _ connection: Connection) throws -> Bool? {
        let statement = try connection.statement(Self.selectStates)
        defer { statement.reset() }
        statement.bind(id, at: 1)
        var hasDead = false
        while try statement.step() {
            tasksLeft -= 1
            guard let state = statement.text(0), looksThroughLarge || tasksLeft >= 0 else { return nil }
            hasDead = hasDead || state == MessageState.dead.rawValue
            if hasDead, isEnough { return true }
        }
        return hasDead
    }

    private static func select(_ state: String, _ place: String, order: String) -> Query {
        Query(
            """
            SELECT ended.sequence, ended.state, ended.finished_at, task.workflow_id,
                EXISTS (SELECT 1 FROM penstock_cascade AS cascade
                    WHERE cascade.workflow_id = 0 AND cascade.sequence = ended.sequence)
            FROM penstock_outcome AS ended LEFT JOIN penstock_task AS task ON task.sequence = ended.sequence
            WHERE ended.queue_id = ?1 AND ended.state \(state) AND \(place) ORDER BY \(order) LIMIT ?5
            """)
    }
    private static let byEnd =
        "ended.finished_at <= ?2 AND (ended.finished_at, ended.sequence) > (?3, ?4)"
    private static let selectFirst = select("<> 'dead'", "ended.sequence > ?4", order: "ended.sequence")
    private static let selectEnded = select("<> 'dead'", byEnd, order: "ended.finished_at, ended.sequence")
    private static let selectDied = select("= 'dead'", byEnd, order: "ended.finished_at, ended.sequence")
    // From the last task on: it is mostly the one that ends last.
    private static let selectStates = Query(
        """
        SELECT outcome.state FROM penstock_task AS task INDEXED BY penstock_task_workflow
        CROSS JOIN penstock_log AS log ON log.sequence = task.sequence
        LEFT JOIN penstock_outcome AS outcome
            ON outcome.queue_id = log.queue_id AND outcome.sequence = task.sequence
        WHERE task.workflow_id = ?1 ORDER BY task.sequence DESC
        """)
}
