import Logging

/// Log messages as lines on standard error, like the other lines that `penstock` writes there.
struct ErrorLog: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    /// A logger that says what is at least as grave as `level`.
    static func logger(_ level: Logger.Level) -> Logger {
        Logger(label: "penstock") { _ in ErrorLog(logLevel: level) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let known = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        let facts = known.sorted { $0.key < $1.key }
            .map { " \($0.key)=\(Columns.cut(Escape.text("\($0.value)"), to: 200))" }.joined()
        ErrorOutput.line("penstock: \(event.level): \(Escape.text("\(event.message)"))\(facts)")
    }
}
