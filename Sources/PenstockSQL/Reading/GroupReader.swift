import PenstockCore

/// Reads groups and limits.
enum GroupReader {
    /// The groups of a queue, by key. Only groups with messages that have a permit or wait for one, those that are paused or put
    /// off, and those that weigh more than 1, have rows.
    static func groups(
        _ query: GroupQuery, at now: Timestamp, _ connection: Connection
    ) throws -> [GroupRecord] {
        let id = try QueueReader.id(of: query.queue, connection)
        let keys =
            if let key = query.key {
                [key]
            } else {
                try connection.all(
                    selectKeys, .integer(id), .text(query.after ?? ""), .integer(Int64(query.limit)),
                    .integer(now.microseconds)
                ) { $0.text(0) ?? "" }
            }
        return try keys.compactMap { key in
            let record = try connection.first(
                readGroup, .integer(id), .text(key), .integer(now.microseconds), .integer(Int64(query.countMax ?? .max))
            ) { row in
                GroupRecord(
                    key: key, permitted: Int(row.integer(0)), blocked: Int(row.integer(1)),
                    isPaused: row.integer(2) != 0, heldBy: row.optionalInteger(3).map { SequenceNumber($0) },
                    heldUntil: row.optionalInteger(5).map { Timestamp(microseconds: $0) }, weight: Int(row.integer(4)))
            }
            // A group that was asked for by its key may have nothing.
            guard let record,
                record.permitted + record.blocked > 0 || record.isPaused || record.weight > 1
                    || record.heldUntil != nil
            else { return nil }
            return record
        }
    }

    /// The limits that queues share, by name.
    static func limits(_ connection: Connection) throws -> [LimitRecord] {
        try connection.all(selectLimits) { row in
            LimitRecord(
                name: LimitName(stored: row.text(0) ?? ""), count: Int(row.integer(1)), leased: 0, queues: [])
        }.map { limit in
            var limit = limit
            for (queue, leased) in try connection.all(
                selectSharing, .text(limit.name.text),
                read: { (QueueName(stored: $0.text(0) ?? ""), $0.integer(1).clamped(to: StoredRange.leased)) })
            {
                limit.queues.append(queue)
                limit.leased += Int(leased)
            }
            return limit
        }
    }

    private static let selectKeys = Query(
        """
        SELECT group_key FROM (
            SELECT * FROM (SELECT DISTINCT group_key FROM penstock_permit
                WHERE queue_id = ?1 AND group_key > ?2 ORDER BY group_key LIMIT ?3) AS part1
            UNION SELECT * FROM (SELECT DISTINCT group_key FROM penstock_blocked
                WHERE queue_id = ?1 AND group_key > ?2 ORDER BY group_key LIMIT ?3) AS part2
            UNION SELECT * FROM (SELECT group_key FROM penstock_group_pause
                WHERE queue_id = ?1 AND group_key > ?2 ORDER BY group_key LIMIT ?3) AS part3
            UNION SELECT * FROM (SELECT group_key FROM penstock_group_rate
                WHERE queue_id = ?1 AND group_key > ?2 AND held_until > ?4 ORDER BY group_key LIMIT ?3) AS part4
            UNION SELECT * FROM (SELECT group_key FROM penstock_weight
                WHERE queue_id = ?1 AND group_key > ?2 ORDER BY group_key LIMIT ?3) AS part5) AS keys
        ORDER BY group_key LIMIT ?3
        """)
    private static let readGroup = Query(
        """
        SELECT (SELECT count(*) FROM penstock_permit WHERE queue_id = ?1 AND group_key = ?2),
            (SELECT count(*) FROM (
                SELECT 1 FROM penstock_blocked WHERE queue_id = ?1 AND group_key = ?2 LIMIT ?4) AS counted),
            EXISTS (SELECT 1 FROM penstock_group_pause WHERE queue_id = ?1 AND group_key = ?2),
            (SELECT min(permit.sequence) FROM penstock_permit AS permit JOIN penstock_outcome AS outcome
                ON outcome.queue_id = permit.queue_id AND outcome.sequence = permit.sequence
                WHERE permit.queue_id = ?1 AND permit.group_key = ?2),
            ifnull((SELECT weight FROM penstock_weight WHERE queue_id = ?1 AND group_key = ?2), 1),
            (SELECT held_until FROM penstock_group_rate WHERE queue_id = ?1 AND group_key = ?2 AND held_until > ?3)
        """)
    private static let selectLimits = Query("SELECT name, count FROM penstock_limit ORDER BY name")
    private static let selectSharing = Query(
        """
        SELECT queue.name, depth.leased FROM penstock_queue AS queue
        JOIN penstock_depth AS depth ON depth.queue_id = queue.id WHERE queue.share_limit = ?1 ORDER BY queue.name
        """)
}
