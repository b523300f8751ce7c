package import PenstockCore
import PenstockProcesses

/// Reads queues, their numbers, and the workers.
package enum QueueReader {
    /// Everything that is counted: of one queue, or of all.
    package static func status(
        of queue: QueueName?, _ connection: Connection, _ time: any TimeSource, _ locks: any WorkerLocks
    ) throws -> StoreStatus {
        StoreStatus(
            queues: try queues(queue, at: time.now, connection),
            workers: try workers(connection, time, locks),
            cursors: try Cursors.all(of: queue, connection),
            move: try Departure.read(connection))
    }

    /// The ids of one queue, or of all.
    package static func ids(_ queue: QueueName?, _ connection: Connection) throws -> [Int64] {
        guard let queue else { return try connection.all(selectIDs) { $0.integer(0) } }
        return [try id(of: queue, connection)]
    }

    static func id(of queue: QueueName, _ connection: Connection) throws -> Int64 {
        let id = try connection.integer(readID, .text(queue.text))
        guard let id else { throw PenstockError.unknown(queue) }
        return id
    }

    /// The queues by name, with their numbers.
    package static func queues(_ queue: QueueName?, at now: Timestamp, _ connection: Connection) throws -> [QueueStatus]
    {
        func read(_ row: PreparedStatement) -> (Int64, QueueStatus) {
            let found = QueueRow(row)
            let at = QueueRow.columnCount
            func number(_ offset: Int) -> Int { Int(row.integer(at + offset)) }
            var depths = Depths()
            depths.pending = number(0)
            depths.scheduled = number(1)
            depths.blocked = number(2)
            depths.ready = number(3)
            depths.leased = number(4)
            depths.dead = number(5)
            depths.kept = number(6)
            var totals = Totals()
            totals.enqueued = number(7)
            totals.done = number(8)
            totals.dead = number(9)
            totals.dropped = number(10)
            totals.cancelled = number(11)
            totals.retried = number(12)
            totals.reclaimed = number(13)
            var latency = QueueLatency()
            latency.wait = LatencyText.decode(row.text(at + 14))
            latency.work = LatencyText.decode(row.text(at + 15))
            return (
                found.id,
                QueueStatus(
                    name: found.name, policy: found.policy, isPaused: found.isPaused, isDeleting: found.isDeleting,
                    depths: depths, totals: totals, latency: latency)
            )
        }
        let found =
            if queue == nil {
                try connection.all(selectQueues, read: read)
            } else {
                // Of one queue nothing is read of the others, of which there may be many.
                try ids(queue, connection).flatMap { try connection.all(selectQueue, .integer($0), read: read) }
            }
        // Most queues of many are empty, and are not asked.
        let waiting = found.filter { $0.1.depths.ready > 0 || $0.1.depths.scheduled > 0 }.map(\.0)
        let ready = try AgeReader.oldestReady(waiting, at: now, connection)
        let leases = try AgeReader.oldestLeases(connection)
        return found.map { id, status in
            var status = status
            status.oldestReady = ready[id]
            status.oldestLease = leases[id]
            return status
        }
    }

    /// The workers that have a row, in the order in which they came.
    package static func workers(
        _ connection: Connection, _ time: any TimeSource, _ locks: any WorkerLocks
    ) throws -> [WorkerRecord] {
        let alive = try LivingWorkers(connection, at: time, locks)
        return try connection.all(selectWorkers) { row in
            WorkerRecord(
                id: row.integer(0), name: row.text(1) ?? "",
                processID: row.optionalInteger(2).map { Int32(truncatingIfNeeded: $0) },
                startedAt: Timestamp(microseconds: row.integer(3)), isAlive: alive.isAlive(row.integer(0)),
                leased: Int(row.integer(4)),
                oldestClaim: row.optionalInteger(5).map(Timestamp.init(microseconds:)))
        }
    }

    // The index of names would give them in no order of theirs.
    private static let selectIDs = Query("SELECT id FROM penstock_queue NOT INDEXED ORDER BY id")
    static let readID = Query("SELECT id FROM penstock_queue WHERE name = ?1")
    private static let selectQueues = Query("\(selection) ORDER BY queue.name")
    private static let selectQueue = Query("\(selection) WHERE queue.id = ?1")
    private static let selection = """
        SELECT \(QueueRow.columns), depth.pending, depth.scheduled, depth.blocked, depth.ready, depth.leased, depth.dead, depth.kept,
            depth.enqueued_total, depth.done_total, depth.dead_total, depth.dropped_total, depth.cancelled_total,
            depth.retried_total, depth.reclaimed_total, depth.wait_latency, depth.work_latency
        FROM penstock_queue AS queue JOIN penstock_depth AS depth ON depth.queue_id = queue.id
        """
    private static let selectWorkers = Query(
        """
        SELECT worker.id, worker.name,
            CASE WHEN NOT EXISTS (SELECT 1 FROM penstock_remote_worker WHERE worker_id = worker.id) THEN process_id END,
            worker.started_at, count(lease.sequence), min(lease.claimed_at)
        FROM penstock_worker AS worker LEFT JOIN penstock_lease AS lease ON lease.worker_id = worker.id
        GROUP BY worker.id ORDER BY worker.id
        """)
}
