import Logging
import Penstock
import PenstockMetrics
import PenstockTracing
import ServiceLifecycle
import UnixSignals

// Operating.

struct OperatingArticle {
    // shown
    func waiting(in path: String) async throws -> [String: Int] {
        let store = try await PenstockStore.open(path: path, options: .init(access: .readOnly))
        let depths = try await store.queues().map { ($0.name.text, $0.depths.waiting) }
        try await store.close()
        return Dictionary(uniqueKeysWithValues: depths)
    }
    // end

    // shown
    func isStuck(_ number: Int64, in store: PenstockStore) async throws -> Bool {
        let reason = try await store.waitReason(of: SequenceNumber(number))
        return reason.causes.contains { cause in
            guard case .permit(let other) = cause else { return false }
            return other.state == .dead
        }
    }
    // end

    struct Job: Codable, Sendable {
        func run() async throws {}
    }

    // shown
    func worker(on jobs: Queue<Job>, metrics: RecordedMetrics) throws -> ServiceGroup {
        let work = Worker(jobs) { delivery in try await delivery.payload.run() }
        let served = try MetricsService(metrics, at: "127.0.0.1:9464")
        return ServiceGroup(
            services: [served, work], gracefulShutdownSignals: [.sigterm], logger: Logger(label: "jobs"))
    }
    // end
}

// The landing page of PenstockMetrics.

struct MetricsArticle {
    // shown
    func serveMetrics(ofStoreAt path: String) async throws {
        let metrics = RecordedMetrics()
        let store = try await PenstockStore.open(path: path, options: .init(metrics: metrics))
        try await MetricsService(metrics, at: "127.0.0.1:9464").run()
        try await store.close()
    }
    // end
}

// The landing page of PenstockTracing.

struct TracingArticle {
    // shown
    func work(path: String) async throws {
        // Nothing is traced where the environment does not ask for it.
        let tracer = try TracingConfiguration(serviceName: "mill").map { OTLPTracer($0) }
        let store = try await PenstockStore.open(path: path, options: .init(tracer: tracer))
        let queue = try await store.queue("mail", of: String.self)
        try await queue.enqueue("hello")
        try await store.close()
        await tracer?.shutdown()
    }
    // end
}
