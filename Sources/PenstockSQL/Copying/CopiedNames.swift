import PenstockCore

/// The names of a source that must not be there in the target: of its queues and schedules, and of its workflows that were given one;
/// and its limits, which must be the same there.
struct CopiedNames: Sendable {
    private(set) var limits: [(name: LimitName, count: Int64)] = []
    /// By their bytes, as the stores compare them: two names can look the same.
    private var taken: [Kind: Set<[UInt8]>] = [:]

    private enum Kind: String, CaseIterable {
        case queue, schedule, workflow
    }

    /// Reads those of a source.
    init(_ connection: Connection) throws {
        for kind in Kind.allCases {
            let rows = try Self.rows(of: kind, besidesMovesOf: nil, connection)
            taken[kind] = Set(rows.filter { !Self.isMade(kind, $0.id, $0.name) }.map { Array($0.name.utf8) })
        }
        limits = try Self.limits(connection)
    }

    /// Throws `queueExists` when a target has something of the same name already.
    ///
    /// - Parameter sourceID: the source, where it is not copied now: what has come of its unfinished copies is passed over, which a copy goes
    ///   on with or removes.
    func refuseClashes(_ target: String, besidesMovesOf sourceID: StoreID? = nil, _ connection: Connection) throws {
        for kind in Kind.allCases {
            let there = try Self.rows(of: kind, besidesMovesOf: sourceID, connection)
            if let (_, name) = there.first(where: { taken[kind]?.contains(Array($0.name.utf8)) == true }) {
                let way =
                    kind == .workflow
                    ? "or let that one end and have it forgotten there, as with `penstock prune QUEUE --retain-count 0`"
                    : "or remove it there"
                throw PenstockError(
                    .queueExists,
                    "\(target) has a \(kind.rawValue) called '\(name)' of its own; copy into a store without one, \(way)."
                )
            }
        }
        try refuseLimits(target, connection)
    }

    /// Throws `queueExists` when a target has a limit of the same name and another count.
    func refuseLimits(_ target: String, _ connection: Connection) throws {
        for (name, count) in try Self.limits(connection) {
            if let limit = limits.first(where: { $0.name == name }), limit.count != count {
                throw PenstockError(
                    .queueExists,
                    "\(target) has a limit called '\(name)' of its own, of \(count) and not of \(limit.count); set one of them so "
                        + "that both are the same.")
            }
        }
    }

    /// Whether it is a workflow whose name was made for it: that is made anew where the target has one like it.
    private static func isMade(_ kind: Kind, _ id: Int64, _ name: String) -> Bool {
        kind == .workflow && WorkflowName(stored: name).isMade(for: SequenceNumber(id))
    }

    private static func rows(
        of kind: Kind, besidesMovesOf sourceID: StoreID?, _ connection: Connection
    ) throws -> [(id: Int64, name: String)] {
        let query =
            switch kind {
            case .queue: selectQueues
            case .schedule: selectSchedules
            case .workflow: selectWorkflows
            }
        return try connection.all(query, .text(sourceID?.rawValue ?? "")) { ($0.integer(0), $0.text(1) ?? "") }
    }

    private static func limits(_ connection: Connection) throws -> [(name: LimitName, count: Int64)] {
        try connection.all(selectLimits) { (LimitName(stored: $0.text(0) ?? ""), $0.integer(1)) }
    }

    private static let arriving = """
        SELECT arriving.queue_id FROM penstock_arriving AS arriving
        JOIN penstock_arrival AS arrival ON arrival.move_id = arriving.move_id WHERE arrival.source_id = ?1
        """
    private static let selectQueues = Query("SELECT id, name FROM penstock_queue WHERE id NOT IN (\(arriving))")
    private static let selectSchedules = Query(
        "SELECT id, name FROM penstock_schedule WHERE queue_id NOT IN (\(arriving))")
    private static let selectWorkflows = Query(
        """
        SELECT workflow.id, workflow.name FROM penstock_workflow AS workflow WHERE NOT EXISTS (
            SELECT 1 FROM penstock_arrival AS arrival WHERE arrival.source_id = ?1 AND arrival.finished_at IS NULL
                AND workflow.id BETWEEN arrival.first_sequence AND arrival.last_sequence)
        """)
    private static let selectLimits = Query("SELECT name, count FROM penstock_limit")
}
