import PenstockCore

/// How many messages are to be copied, or were: of each queue, by state. Counted from the rows, and not from what the depths say.
struct CopyCount: Sendable, Equatable {
    private(set) var queues: [QueueName: [MessageState: Int]] = [:]

    var total: Int { queues.values.reduce(0) { $0 + $1.values.reduce(0, +) } }

    /// What is to be copied from a source, or would be: then what workers have is counted as it stands.
    static func ofSource(withLog: Bool, _ connection: Connection) throws -> CopyCount {
        var count = CopyCount()
        for name in try Leaving.queues(connection) { count.queues[name] = [:] }
        try count.add(selectWaiting, [], connection)
        try count.add(selectLeased, [], connection)
        try count.add(selectEnded, [.integer(withLog ? 1 : 0)], connection)
        return count
    }

    /// What has come into a target, and is not at work yet.
    static func ofTarget(_ moveID: String, _ connection: Connection) throws -> CopyCount {
        var count = CopyCount()
        for name in try Arriving.queues(of: moveID, connection) { count.queues[name] = [:] }
        try count.add(selectArrived, [.text(moveID)], connection)
        return count
    }

    /// The queue and the state, in words, of which `other` has another number.
    func difference(from other: CopyCount) -> String? {
        for name in Set(queues.keys).union(other.queues.keys).sorted(by: { $0.text < $1.text }) {
            guard let here = queues[name], let there = other.queues[name] else {
                return "the queue '\(name)' is in one of them"
            }
            for state in Set(here.keys).union(there.keys) where here[state, default: 0] != there[state, default: 0] {
                return
                    "of '\(name)' \(here[state, default: 0]) and \(there[state, default: 0]) messages are \(state.rawValue)"
            }
        }
        return nil
    }

    var report: [CopyReport.Queue] {
        queues.map { CopyReport.Queue(name: $0.key, counts: $0.value) }.sorted { $0.name.text < $1.name.text }
    }

    private mutating func add(_ query: Query, _ values: [Value], _ connection: Connection) throws {
        let rows = try connection.all(try connection.statement(query), values) {
            (QueueName(stored: $0.text(0) ?? ""), $0.text(1).flatMap(MessageState.init), Int($0.integer(2)))
        }
        for case (let name, let state?, let count) in rows { queues[name, default: [:]][state, default: 0] += count }
    }

    private static let waiting: [MessageState] = [.pending, .scheduled, .blocked, .ready]

    private static func count(in states: [MessageState], where condition: String) -> String {
        states.map { state in
            """
            SELECT queue.name, '\(state.rawValue)', count(*) FROM penstock_\(state.rawValue) AS line
            JOIN penstock_queue AS queue ON queue.id = line.queue_id \(condition) GROUP BY queue.name
            """
        }.joined(separator: " UNION ALL ")
    }

    private static let selectWaiting = Query(count(in: waiting, where: ""))
    private static let selectLeased = Query(
        """
        SELECT queue.name, 'leased', count(*) FROM penstock_lease AS lease
        JOIN penstock_queue AS queue ON queue.id = lease.queue_id GROUP BY queue.name
        """)
    private static let selectEnded = Query(
        """
        SELECT queue.name, ended.state, count(*) FROM penstock_outcome AS ended
        JOIN penstock_queue AS queue ON queue.id = ended.queue_id
        JOIN penstock_log AS log ON log.sequence = ended.sequence
        WHERE ended.state = 'dead' OR \(CopyBatch.isCopied(all: "?1"))
        GROUP BY queue.name, ended.state
        """)
    private static let isArriving =
        "JOIN penstock_arriving AS arriving ON arriving.queue_id = queue.id AND arriving.move_id = ?1"
    private static let selectArrived = Query(
        """
        \(count(in: waiting, where: isArriving)) UNION ALL
        SELECT queue.name, ended.state, count(*) FROM penstock_outcome AS ended
        JOIN penstock_queue AS queue ON queue.id = ended.queue_id \(isArriving) GROUP BY queue.name, ended.state
        """)
}
