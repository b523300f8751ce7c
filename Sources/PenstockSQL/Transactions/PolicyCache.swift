package import PenstockCore

/// The queues' policies, kept in memory between transactions for as long as the store's `policy_version` stays. With them what is
/// known of depths, which is valid by itself.
package final class PolicyCache {
    /// How many queues of the last transaction are remembered.
    private static let lastQueuesMax = 8
    /// How long after a look at all of a queue's line claims go by where it is said to begin.
    private static let trustMax = Duration.seconds(10)

    private let now: () -> ContinuousClock.Instant
    private var version: Int64 = -1
    private var rows: [QueueName: QueueRow] = [:]
    private var names: [Int64: QueueName] = [:]
    private var scheduled: [Int64: Bool] = [:]
    private var depths: [Int64: KnownDepth] = [:]
    /// When a claim has last looked at all of a queue's line.
    private var wholeLooks: [Int64: ContinuousClock.Instant] = [:]
    /// Before which moments none of a queue's messages is scheduled.
    private var dueStarts: [Int64: Int64] = [:]
    /// The queues that the last transaction was about.
    private(set) var lastQueues: [Int64] = []

    /// - Parameter now: the present moment.
    package init(now: @escaping () -> ContinuousClock.Instant = { .now }) {
        self.now = now
    }

    /// Forgets everything when `version` is another than the one it was read at.
    package func validate(at version: Int64) {
        if version != self.version {
            forget()
            // A queue may have come, or gone: of those that come and go numbers would stay for ever.
            let now = now()
            wholeLooks = wholeLooks.filter { now - $0.value < Self.trustMax }
            self.version = version
        }
    }

    /// How many queues have looks at all of their line on record.
    package var wholeLookCount: Int { wholeLooks.count }

    /// Forgets everything: after a rollback, or a change in this transaction.
    package func forget() {
        version = -1
        rows = [:]
        names = [:]
        scheduled = [:]
        depths = [:]
        dueStarts = [:]
    }

    /// Takes what was prefetched of depths, and takes nothing else for current.
    func beginTransaction(_ connection: Connection) throws {
        guard connection.isServer else { return }
        for depth in depths.values { depth.expire() }
        for id in lastQueues { try depth(of: id).read(of: id, connection) }
    }

    func noteQueues(_ ids: some Sequence<Int64>) {
        lastQueues = Array(ids.prefix(Self.lastQueuesMax))
    }

    /// Whether a claim from that queue goes by where its line of ready messages is said to begin. Now and then one does not, so that what
    /// somebody has put in line by hand is found, or what a mistake has hidden.
    package func trustsLineStart(of id: Int64) -> Bool { wholeLooks[id].map { now() - $0 < Self.trustMax } ?? false }

    /// Notes that a claim looks at all of the queue's line.
    package func looksAtWholeLine(of id: Int64) { wholeLooks[id] = now() }

    /// Notes that none of a queue's messages is due before `moment`, and none will be: a claim has found none, and is committed. On a server
    /// those that were lie in the index until nobody may see them any more (``LineStart``).
    func noneIsDue(before moment: Timestamp, of id: Int64) { dueStarts[id] = moment.microseconds }

    /// From which moment on a look at a queue's scheduled messages goes; `.min`: from the first one on, as it does wherever
    /// ``trustsLineStart(of:)`` says no, and at a time before that moment, as the clock was set back.
    func dueStart(of id: Int64, at now: Timestamp? = nil) -> Int64 {
        guard trustsLineStart(of: id), let start = dueStarts[id], now.map({ $0.microseconds >= start }) ?? true
        else { return .min }
        return start
    }

    /// The number of the queue called `name`, if its policy is known and limits no claims.
    func unlimitedQueue(_ name: QueueName) -> Int64? {
        guard let row = rows[name], !row.policy.limitsClaims else { return nil }
        return row.id
    }

    /// Whether the queue has schedules.
    package func hasSchedules(_ id: Int64, _ connection: Connection) throws -> Bool {
        if let known = scheduled[id] { return known }
        let found = try connection.has(Self.anySchedule, .integer(id))
        scheduled[id] = found
        return found
    }

    func depth(of id: Int64) -> KnownDepth {
        if let known = depths[id] { return known }
        let known = KnownDepth()
        depths[id] = known
        return known
    }

    package func row(named name: QueueName, _ connection: Connection) throws -> QueueRow? {
        if let row = rows[name] { return row }
        return try keep(connection.first(Self.byName, .text(name.text), read: QueueRow.init))
    }

    package func row(id: Int64, _ connection: Connection) throws -> QueueRow? {
        if let name = names[id], let row = rows[name] { return row }
        return try keep(connection.first(Self.byID, .integer(id), read: QueueRow.init))
    }

    private func keep(_ row: QueueRow?) -> QueueRow? {
        if let row {
            rows[row.name] = row
            names[row.id] = row.name
        }
        return row
    }

    private static let anySchedule = Query("SELECT 1 FROM penstock_schedule WHERE queue_id = ?1 LIMIT 1")
    private static let byName = Query("SELECT \(QueueRow.columns) FROM penstock_queue AS queue WHERE queue.name = ?1")
    private static let byID = Query("SELECT \(QueueRow.columns) FROM penstock_queue AS queue WHERE queue.id = ?1")
}
