import PenstockCore

/// What this process knows of a queue's row in `penstock_depth`: its latencies as they were last read or written, and of a row that
/// was read in this transaction how many messages waited.
///
/// Other processes write latencies as well, and a transaction may be rolled back. So a writer says what text they were made from,
/// and only a row that has this text is changed: nothing is read as long as one process alone works the queue. Where a look costs next to
/// nothing, as it goes with others, each transaction looks.
final class KnownDepth {
    /// How many messages wait.
    struct Waiting {
        var scheduled: Int64
        var ready: Int64
        var blocked: Int64
    }

    /// Whether the row was read in this transaction and is there, and so has these latencies.
    private(set) var isCurrent = false
    /// What the row said when it was read in this transaction; `nil`: it was not, or has changed since.
    private(set) var waiting: Waiting?
    private(set) var wait = Phase()
    private(set) var work = Phase()
    /// Which version of the row that was, and where it said that the line of ready messages begins.
    private(set) var version: Int64 = 0
    private(set) var lineStart = LinePlace.first
    private var updates: Int64 = 0

    /// The row was written.
    func written(lineStart start: LinePlace) {
        lineStart = start
        updates += 1
        version = updates / Versions.updatesOfOne
        waiting = nil
    }

    /// Takes nothing for current any more.
    func expire() { (isCurrent, waiting) = (false, nil) }

    /// One of the two histograms.
    struct Phase {
        /// What the table has, `nil` for NULL.
        fileprivate(set) var text: String?
        /// What ``text`` says.
        fileprivate var histogram = LatencyHistogram()

        fileprivate mutating func add(_ change: LatencyHistogram) {
            if change.isEmpty { return }
            histogram.add(change)
            text = LatencyText.encode(histogram)
        }

        fileprivate mutating func read(_ text: String?) {
            self.text = text
            histogram = LatencyText.decode(text)
        }
    }

    /// Adds what has changed. The row is to be written next.
    func add(_ change: QueueLatency) {
        waiting = nil
        wait.add(change.wait)
        work.add(change.work)
    }

    /// Reads the row, if it is there.
    func read(of queueID: Int64, _ connection: Connection) throws {
        (wait, work) = (Phase(), Phase())
        waiting = try connection.first(Self.select, .integer(queueID)) { row in
            wait.read(row.text(0))
            work.read(row.text(1))
            if connection.isServer {
                version = row.integer(5)
                updates = row.integer(6)
                lineStart = LinePlace(priority: row.integer(7), turn: row.integer(8), sequence: row.integer(9))
            }
            return Waiting(scheduled: row.integer(2), ready: row.integer(3), blocked: row.integer(4))
        }
        isCurrent = connection.isServer && waiting != nil
    }

    /// Says that the row is about to be read.
    static func prefetch(_ queueID: Int64, _ connection: Connection) throws {
        try connection.prefetch(select, .integer(queueID))
    }

    private static let select = Query(
        "SELECT wait_latency, work_latency, scheduled, ready, blocked FROM penstock_depth WHERE queue_id = ?1",
        server: """
            SELECT wait_latency, work_latency, scheduled, ready, blocked, version, updates, from_priority, from_turn, from_sequence
            FROM penstock_depth WHERE queue_id = ?1 ORDER BY version DESC LIMIT 1
            """)
}
