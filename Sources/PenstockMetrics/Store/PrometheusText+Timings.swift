package import PenstockCore

extension PrometheusText {
    /// Adds how long this process has waited for the disk and for other processes that write.
    package mutating func add(_ timings: StoreTimings) {
        begin(
            "penstock_store_flush_seconds", .histogram,
            "How long the disk took to have what this process had committed, flush by flush.")
        add(timings.flush, Labels())
        begin(
            "penstock_store_writer_lock_wait_seconds", .histogram,
            "How long transactions of this process waited for other processes to be done writing.")
        add(timings.writerLock, Labels())
    }
}
