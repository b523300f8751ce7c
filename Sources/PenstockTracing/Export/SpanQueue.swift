/// Spans that have ended and have yet to be handed over. It is bounded: what finds no room is counted, and gone.
struct SpanQueue {
    /// As OpenTelemetry's batch processor has them (`OTEL_BSP_MAX_QUEUE_SIZE`, `OTEL_BSP_MAX_EXPORT_BATCH_SIZE`).
    static let countMax = 2048
    static let batchMax = 512

    private(set) var spans: [SpanRecord] = []
    /// Spans that were lost since somebody has asked.
    private(set) var lost = 0
    private(set) var isStopped = false
    /// Whether what is there is to be handed over before its time.
    private(set) var isUrgent = false

    mutating func add(_ span: SpanRecord) {
        guard !isStopped, spans.count < Self.countMax else {
            lost += 1
            return
        }
        spans.append(span)
        if spans.count >= Self.batchMax { isUrgent = true }
    }

    mutating func hurry() { isUrgent = true }

    mutating func stop() {
        isStopped = true
        isUrgent = true
    }

    /// The spans of the next batch, the oldest first.
    mutating func takeBatch() -> [SpanRecord] {
        let batch = Array(spans.prefix(Self.batchMax))
        spans.removeFirst(batch.count)
        isUrgent = isStopped || spans.count >= Self.batchMax
        return batch
    }

    /// Takes out all of them, and says how many they were.
    mutating func takeAll() -> Int {
        defer { spans = [] }
        return spans.count
    }

    mutating func takeLost() -> Int {
        defer { lost = 0 }
        return lost
    }
}
