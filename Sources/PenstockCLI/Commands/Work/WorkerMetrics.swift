import Penstock
import PenstockFormats
import PenstockMetrics
import Synchronization

/// A worker's own numbers, for Prometheus.
final class WorkerMetrics: Sendable {
    /// What is given to the store.
    let recorded = RecordedMetrics()
    private let listener: MetricsListener

    /// The store, once it is open.
    private final class Opened: Sendable {
        let store = Mutex<PenstockStore?>(nil)
    }

    private let opened: Opened

    /// Serves them at `address`, and says so.
    @MainActor
    init(at address: ListenAddress) throws {
        let opened = Opened()
        self.opened = opened
        listener = try MetricsListener(at: address) { [recorded] in
            var text = recorded.textOfProcess
            if let store = opened.store.withLock({ $0 }) { text.add(store.timings) }
            text.add(version: Version.text)
            return text
        }
        ErrorOutput.say("The metrics of this worker are at \(listener.address), /metrics.")
    }

    func isOpen(_ store: PenstockStore) { opened.store.withLock { $0 = store } }

    func stop() { listener.stop() }
}
