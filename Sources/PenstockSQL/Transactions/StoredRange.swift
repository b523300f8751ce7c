/// What the numbers in the file can be. A program that can write the file can put any number there, and sums of them
/// must not overflow.
package enum StoredRange {
    /// Sequence numbers: from here up to 2^62, so that a lease's token, which is a number of 62 bits and a sequence
    /// number, is within 64 bits.
    package static let sequences: ClosedRange<Int64> = 1...1 << 62
    /// Attempts begun at one message. Redrives and lost workers may make it any number, and no machine so many.
    package static let attempts: ClosedRange<Int64> = 0...1_000_000_000
    /// Depths and totals.
    package static let counts: ClosedRange<Int64> = 0...1 << 62
    /// Messages of a queue that are leased, and a limit on them: so few that the sum over all queues which share it is within 64 bits.
    package static let leased: ClosedRange<Int64> = 0...Int64(Int32.max)
    /// Moments, in microseconds: the years 1970 to 9999, which ISO 8601 and the public views can show.
    package static let times: ClosedRange<Int64> = 0...253_402_300_799_999_999
}

extension Int64 {
    /// The number, or the end of `range` that is nearest to it.
    func clamped(to range: ClosedRange<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }

    /// How long before this moment another one was, in microseconds, which the file has and which may be any number.
    func elapsed(since moment: Int64) -> Int64 { self - moment.clamped(to: StoredRange.times) }
}

/// How sequence numbers go on where nobody knows any more which one was given last: far ahead of every known one.
package enum SequenceJump {
    /// How far: further than a queue gets between two looks at it, or between a backup and its use.
    package static let gap: Int64 = 1_000_000_000
    /// Beyond this number the last one given is none that a program can have counted.
    package static let lastMax = StoredRange.sequences.upperBound / 2

    /// The highest sequence number that anything in the file knows of, as SQL.
    package static let known = """
        (SELECT coalesce(max(sequence), 0) FROM (
            SELECT max(sequence) AS sequence FROM penstock_log
            UNION ALL SELECT max(sequence) FROM penstock_cursor WHERE sequence <= \(lastMax)
            UNION ALL SELECT max(sequence) FROM penstock_quarantine WHERE sequence <= \(lastMax)) AS known)
        """
}

/// How depths are counted, as SQL.
package enum DepthCount {
    /// The columns of depths. Each counts the rows `line` of a queue in a table, or those of them that fulfil a condition.
    package static let columns: [(name: String, source: QuarantineSource, condition: String?)] = [
        ("scheduled", .scheduled, nil), ("pending", .pending, nil), ("blocked", .blocked, nil), ("ready", .ready, nil),
        ("leased", .lease, nil), ("dead", .outcome, "line.state = 'dead'"), ("kept", .outcome, "line.state <> 'dead'"),
    ]

    /// What sets the depths of a queue to the number of its rows.
    package static func depths(of queueID: String) -> String {
        columns.map { name, source, condition in
            let also = condition.map { " AND \($0)" } ?? ""
            return "\(name) = (SELECT count(*) FROM \(source.table) AS line WHERE line.queue_id = \(queueID)\(also))"
        }.joined(separator: ", ")
    }

    package static let totals = [
        "enqueued_total", "done_total", "dead_total", "dropped_total", "cancelled_total", "retried_total",
        "reclaimed_total",
    ]

    /// Makes the rows of queues that have none.
    package static let makeMissing = """
        INSERT INTO penstock_depth (queue_id) SELECT id FROM penstock_queue AS queue
        WHERE NOT EXISTS (SELECT 1 FROM penstock_depth AS depth WHERE depth.queue_id = queue.id)
        """

    /// Counts the depths of every queue anew, and makes its totals sound.
    package static let countAll = """
        UPDATE penstock_depth SET \(depths(of: "penstock_depth.queue_id")),
            \(totals.map { "\($0) = \(sound($0))" }.joined(separator: ", "))
        """

    /// A total that can be added to: one that nobody can have counted begins anew.
    package static func sound(_ total: String) -> String {
        "CASE WHEN \(total) BETWEEN 0 AND \(StoredRange.counts.upperBound) THEN \(total) ELSE 0 END"
    }
}
