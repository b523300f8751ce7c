package import Logging
import Synchronization

/// What was logged.
package final class TestLog: Sendable {
    private let kept = Mutex<[(level: Logger.Level, message: String, metadata: Logger.Metadata)]>([])
    private let least: Logger.Level

    /// - Parameter least: what is less than that is not kept.
    package init(from least: Logger.Level = .trace) {
        self.least = least
    }

    package var lines: [String] { kept.withLock { $0.map(\.message) } }
    /// The same, each behind its level.
    package var linesWithLevels: [String] { kept.withLock { $0.map { "\($0.level): \($0.message)" } } }
    /// The same, each with its metadata behind it, by name.
    package var linesWithMetadata: [String] {
        kept.withLock { lines in
            lines.map { line in
                let facts = line.metadata.sorted { $0.key < $1.key }
                return line.message + facts.map { " \($0.key)=\($0.value)" }.joined()
            }
        }
    }
    /// A logger that writes here.
    package var logger: Logger { Logger(label: "test") { _ in Handler(log: self, logLevel: self.least) } }

    private struct Handler: LogHandler {
        let log: TestLog
        var logLevel: Logger.Level
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.kept.withLock { $0.append((event.level, event.message.description, event.metadata ?? [:])) }
        }
    }
}
