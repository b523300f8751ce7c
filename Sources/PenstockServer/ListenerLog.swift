import Logging
import ServiceLifecycle
import Synchronization

/// What is logged of listeners, until one of them has failed: what the others say as they are ended for it tells nobody anything.
final class ListenerLog: Sendable {
    private let hasFailed = Mutex(false)

    /// A logger that says what `logger` does.
    func logger(_ logger: Logger) -> Logger {
        Logger(label: logger.label) { _ in Handler(log: self, base: logger.handler) }
    }

    /// One listener of several.
    struct Part<Listener: Service>: Service {
        let listener: Listener
        let log: ListenerLog

        func run() async throws {
            do {
                try await listener.run()
            } catch {
                // The others learn of it later than this.
                log.hasFailed.withLock { $0 = true }
                throw error
            }
        }
    }

    private struct Handler: LogHandler {
        let log: ListenerLog
        var base: any LogHandler

        var logLevel: Logger.Level {
            get { base.logLevel }
            set { base.logLevel = newValue }
        }

        var metadata: Logger.Metadata {
            get { base.metadata }
            set { base.metadata = newValue }
        }

        var metadataProvider: Logger.MetadataProvider? {
            get { base.metadataProvider }
            set { base.metadataProvider = newValue }
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { base[metadataKey: key] }
            set { base[metadataKey: key] = newValue }
        }

        func log(event: LogEvent) { if !log.hasFailed.withLock({ $0 }) { base.log(event: event) } }
    }
}
