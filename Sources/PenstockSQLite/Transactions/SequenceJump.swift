/// How sequence numbers go on where nobody knows any more which one was given last: far ahead of every known one.
enum SequenceJump {
    /// How far: further than a queue gets between two looks at it, or between a backup and its use.
    static let gap: Int64 = 1_000_000_000
    /// Beyond this number the last one given is none that a program can have counted.
    static let lastMax = StoredRange.sequences.upperBound / 2

    /// The highest sequence number that anything in the file knows of, as SQL.
    static let known = """
        (SELECT coalesce(max(sequence), 0) FROM (
            SELECT max(sequence) AS sequence FROM penstock_log
            UNION ALL SELECT max(sequence) FROM penstock_cursor WHERE sequence <= \(lastMax)
            UNION ALL SELECT max(sequence) FROM penstock_quarantine WHERE sequence <= \(lastMax)))
        """
}
