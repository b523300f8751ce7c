package import PenstockCore
import PenstockFormats

extension PrometheusText {
    /// Queues with series of their own; see ``QueueSeries``.
    package static let queueCountMax = 500
    /// Cursors with series of their own.
    package static let cursorCountMax = 500

    /// Adds what `status` says of the store: of its queues, its workers and the cursors by which logs are read. It is what the file
    /// counts, so it is the same whichever process says it, and goes on after a new start.
    package mutating func add(_ status: StoreStatus) {
        let queues = QueueSeries(status.queues, countMax: Self.queueCountMax)
        add(depthsOf: queues)
        add(policiesOf: queues)
        add(totalsOf: queues)
        add(agesOf: queues)
        add(latenciesOf: queues)
        // A number of those that a standby sees would set off alerts about workers that live.
        if status.knowsWorkers {
            begin("penstock_workers", .gauge, "Processes and remote workers that are alive and have claimed messages.")
            sample(status.workers.count { $0.isAlive == true })
        }
        begin(
            "penstock_store_moved", .gauge,
            "Whether the queues move to another store, or have moved there, and nothing is taken here: 1 or 0.")
        sample(status.move == nil ? 0 : 1)
        add(status.cursors.filter { !$0.name.isOfSettings })
        begin(
            "penstock_metrics_queues_omitted", .gauge,
            "Queues without series of their own, which are summed up as queue=\"\(QueueSeries.others)\".")
        sample(queues.othersCount)
    }

    private mutating func add(depthsOf queues: QueueSeries) {
        begin(
            "penstock_queue_messages", .gauge,
            "Messages by where they are now; kept: done, dropped or cancelled, and still in the log.")
        for queue in queues.series {
            for (word, number) in Depths.states {
                sample(queue.labels.adding("state", word), queue.depths[keyPath: number])
            }
        }
    }

    private mutating func add(policiesOf queues: QueueSeries) {
        begin(
            "penstock_queue_capacity", .gauge,
            "Messages that may wait (scheduled, blocked or ready); a queue without a capacity has no series.")
        for queue in queues.series {
            if let capacity = queue.queue?.policy.capacity { sample(queue.labels, capacity.count) }
        }
        begin("penstock_queue_paused", .gauge, "Whether claims from the queue are refused for now: 1 or 0.")
        for queue in queues.series {
            if let status = queue.queue { sample(queue.labels, status.isPaused ? 1 : 0) }
        }
    }

    private mutating func add(totalsOf queues: QueueSeries) {
        for (word, number, help) in Totals.events {
            begin("penstock_messages_\(word)_total", .counter, help)
            for queue in queues.series { sample(queue.labels, queue.totals[keyPath: number]) }
        }
    }

    /// Moments and not ages: whoever asks knows what time it is then.
    private mutating func add(agesOf queues: QueueSeries) {
        begin(
            "penstock_queue_oldest_ready_timestamp_seconds", .gauge,
            "Since when the oldest ready message is ready; a queue without one has no series.")
        for queue in queues.series {
            if let oldest = queue.oldestReady { sample(queue.labels, oldest.secondsSinceEpoch) }
        }
        begin(
            "penstock_queue_oldest_lease_timestamp_seconds", .gauge,
            "When the oldest lease was claimed; a queue without one has no series.")
        for queue in queues.series {
            if let oldest = queue.oldestLease { sample(queue.labels, oldest.secondsSinceEpoch) }
        }
    }

    private mutating func add(latenciesOf queues: QueueSeries) {
        begin("penstock_message_wait_seconds", .histogram, "How long messages had been ready as they were claimed.")
        for queue in queues.series { add(queue.latency.wait, queue.labels) }
        begin(
            "penstock_message_process_seconds", .histogram,
            "How long messages had been leased as their worker said what became of them.")
        for queue in queues.series { add(queue.latency.work, queue.labels) }
    }

    mutating func add(_ latency: LatencyHistogram, _ labels: Labels) {
        histogram(labels, .ofMessages, latency.counts, sum: latency.sum / .seconds(1))
    }

    /// How far a cursor is behind cannot be told without counting messages. Where it stands can, and when it last moved.
    private mutating func add(_ cursors: [CursorRecord]) {
        let named = cursors.prefix(Self.cursorCountMax).map { cursor in
            (labels: Labels(["queue": cursor.queue.text, "cursor": cursor.name.text]), cursor: cursor)
        }
        begin("penstock_cursor_sequence", .gauge, "The sequence number up to which everything is behind the cursor.")
        for (labels, cursor) in named { sample(labels, Int(cursor.sequence.rawValue)) }
        begin(
            "penstock_cursor_missed_messages_total", .counter,
            "Messages that the cursor went past without anybody having had them.")
        for (labels, cursor) in named { sample(labels, cursor.missed) }
        begin("penstock_cursor_moved_timestamp_seconds", .gauge, "When the cursor was placed or moved last.")
        for (labels, cursor) in named { sample(labels, cursor.movedAt.secondsSinceEpoch) }
        begin("penstock_metrics_cursors_omitted", .gauge, "Cursors without series of their own.")
        sample(cursors.count - named.count)
    }
}

extension Timestamp {
    /// Seconds since 1970, as Prometheus has times.
    var secondsSinceEpoch: Double { Double(microseconds) / 1_000_000 }
}
