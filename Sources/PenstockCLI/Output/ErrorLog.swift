package import Logging
import PenstockCore
import PenstockFormats

/// Log messages as lines on standard error, like the other lines that `penstock` writes there.
package struct ErrorLog: LogHandler {
    package var logLevel: Logger.Level
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?

    /// A logger that says what is at least as grave as `level`.
    package static func logger(_ level: Logger.Level) -> Logger {
        Logger(label: "penstock") { _ in ErrorLog(logLevel: level) }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let known = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        let facts = known.sorted { $0.key < $1.key }
        guard !LogFormat.isJSON else {
            return ErrorOutput.line(
                LogFormat.line("\(event.message)", event.level, facts.map { ($0.key, "\($0.value)") }))
        }
        let text = facts.map { " \($0.key)=\(Columns.cut(Escape.text("\($0.value)"), to: 200))" }.joined()
        ErrorOutput.line("penstock: \(event.level): \(Escape.text("\(event.message)"))\(text)")
    }
}
