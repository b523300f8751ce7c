import PenstockCore
import PenstockFormats
public import ServiceLifecycle

/// Serves what a ``RecordedMetrics`` has recorded, and what the system says of the process, at `/metrics` for Prometheus. Of a name that the
/// program has recorded itself the program's numbers are served.
///
/// For programs that have no server of their own. It listens at an address of this machine, answers one request at a time on a thread
/// of its own, and asks for no token.
public struct MetricsService: Service {
    private let metrics: RecordedMetrics
    private let address: ListenAddress

    /// - Parameters:
    ///   - metrics: what is served.
    ///   - address: where: `127.0.0.1:PORT`, `[::1]:PORT`, or `unix:PATH` for a socket that only the process's user may use.
    /// - Throws: `PenstockError` with code `invalidInput` for what is no such address.
    public init(_ metrics: RecordedMetrics, at address: String) throws {
        self.metrics = metrics
        self.address = try ListenAddress(address)
        try require(
            self.address.isLocal, "\(address) can be reached from other machines, and metrics ask for no token.")
    }

    /// Serves until it is cancelled, or the group is told to shut down.
    ///
    /// - Throws: `PenstockError` with code `storage` when nothing can listen there.
    public func run() async throws {
        let listener = try MetricsListener(at: address) { [metrics] in metrics.textOfProcess }
        defer { listener.stop() }
        try? await gracefulShutdown()
    }
}

extension RecordedMetrics {
    /// Everything that was recorded, and what the system says of this process.
    package var textOfProcess: PrometheusText {
        var text = PrometheusText()
        write(to: &text)
        text.add(ProcessFacts.now())
        return text
    }
}
