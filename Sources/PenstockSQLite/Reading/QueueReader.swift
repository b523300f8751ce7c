import GRDB
import PenstockCore
import PenstockProcesses

/// Reads queues, their numbers, and the workers.
enum QueueReader {
    /// Everything that is counted: of one queue, or of all.
    static func status(
        of queue: QueueName?, _ database: Database, _ time: any TimeSource, _ folder: SharedFolder
    ) throws -> StoreStatus {
        StoreStatus(
            queues: try queues(queue, at: time.now, database),
            workers: try workers(database, time, folder),
            cursors: try Cursors.all(of: queue, Connection(database)))
    }

    /// The ids of one queue, or of all.
    static func ids(_ queue: QueueName?, _ database: Database) throws -> [Int64] {
        guard let queue else {
            return try Int64.fetchAll(database, sql: "SELECT id FROM penstock_queue NOT INDEXED ORDER BY id")
        }
        let id = try Int64.fetchOne(
            database, sql: "SELECT id FROM penstock_queue WHERE name = ?", arguments: [queue.text])
        guard let id else { throw Transaction.unknownQueue(queue) }
        return [id]
    }

    /// The queues by name, with their numbers.
    static func queues(_ queue: QueueName?, at now: Timestamp, _ database: Database) throws -> [QueueStatus] {
        let connection = Connection(database)
        let ids = try Set(ids(queue, database))
        let leases = try AgeReader.oldestLeases(connection)
        return try connection.all(selectQueues) { row -> (Int64, QueueStatus) in
            let found = QueueRow(row)
            let at = QueueRow.columnCount
            func number(_ offset: Int) -> Int { Int(row.integer(at + offset)) }
            var depths = Depths()
            depths.pending = number(12)
            depths.blocked = number(13)
            depths.scheduled = number(0)
            depths.ready = number(1)
            depths.leased = number(2)
            depths.dead = number(3)
            depths.kept = number(4)
            var totals = Totals()
            totals.enqueued = number(5)
            totals.done = number(6)
            totals.dead = number(7)
            totals.dropped = number(8)
            totals.cancelled = number(9)
            totals.retried = number(10)
            totals.reclaimed = number(11)
            var latency = QueueLatency()
            latency.wait = LatencyText.decode(row.text(at + 14))
            latency.work = LatencyText.decode(row.text(at + 15))
            return (
                found.id,
                QueueStatus(
                    name: found.name, policy: found.policy, isPaused: found.isPaused, isDeleting: found.isDeleting,
                    depths: depths, totals: totals, latency: latency)
            )
        }.filter { ids.contains($0.0) }.map { id, status in
            var status = status
            status.oldestReady = try AgeReader.oldestReady(id, at: now, connection)
            status.oldestLease = leases[id]
            return status
        }
    }

    /// The workers that have a row, in the order in which they came.
    static func workers(
        _ database: Database, _ time: any TimeSource, _ folder: SharedFolder
    ) throws -> [WorkerRecord] {
        let connection = Connection(database)
        let alive = try LivingWorkers(connection, at: time, folder)
        return try connection.all(selectWorkers) { row in
            WorkerRecord(
                id: row.integer(0), name: row.text(1) ?? "",
                processID: row.optionalInteger(2).map { Int32(truncatingIfNeeded: $0) },
                startedAt: Timestamp(microseconds: row.integer(3)), isAlive: alive.contains(row.integer(0)),
                leased: Int(row.integer(4)),
                oldestClaim: row.optionalInteger(5).map(Timestamp.init(microseconds:)))
        }
    }

    private static let selectQueues = Query(
        """
        SELECT \(QueueRow.columns), depth.scheduled, depth.ready, depth.leased, depth.dead, depth.kept,
            depth.enqueued_total, depth.done_total, depth.dead_total, depth.dropped_total, depth.cancelled_total,
            depth.retried_total, depth.reclaimed_total, depth.pending, depth.blocked, depth.wait_latency, depth.work_latency
        FROM penstock_queue AS queue JOIN penstock_depth AS depth ON depth.queue_id = queue.id ORDER BY queue.name
        """)
    private static let selectWorkers = Query(
        """
        SELECT worker.id, worker.name,
            CASE WHEN NOT EXISTS (SELECT 1 FROM penstock_remote_worker WHERE worker_id = worker.id) THEN process_id END,
            worker.started_at, count(lease.sequence), min(lease.claimed_at)
        FROM penstock_worker AS worker LEFT JOIN penstock_lease AS lease ON lease.worker_id = worker.id
        GROUP BY worker.id ORDER BY worker.id
        """)
}
