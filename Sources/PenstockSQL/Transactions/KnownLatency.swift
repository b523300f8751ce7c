import PenstockCore

/// A queue's latencies, as this process has last read or written them.
///
/// Other processes write them as well, and a transaction may be rolled back. So a writer says what text they were made from,
/// and only a row that has this text is changed: nothing is read as long as one process alone works the queue.
final class KnownLatency {
    private(set) var wait = Phase()
    private(set) var work = Phase()

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
        wait.add(change.wait)
        work.add(change.work)
    }

    /// Reads what the row has, if it is there.
    func read(of queueID: Int64, _ connection: Connection) throws {
        (wait, work) = (Phase(), Phase())
        _ = try connection.first(Self.select, .integer(queueID)) { row in
            wait.read(row.text(0))
            work.read(row.text(1))
        }
    }

    private static let select = Query("SELECT wait_latency, work_latency FROM penstock_depth WHERE queue_id = ?1")
}
