import Logging
import Synchronization

/// What a server has said in its log.
final class LogRecords: Sendable {
    private let lines = Mutex<[String]>([])

    /// What was said, each with its level.
    var all: [String] { lines.withLock { $0 } }

    /// A logger that writes here what is a warning at least.
    var logger: Logger { Logger(label: "test") { _ in Handler(records: self) } }

    private struct Handler: LogHandler {
        let records: LogRecords
        var logLevel = Logger.Level.warning
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            records.lines.withLock { $0.append("\(event.level): \(event.message)") }
        }
    }
}
