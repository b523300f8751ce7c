package import ArgumentParser
import Logging
import PenstockCore
import PenstockFormats
import Synchronization

/// In which form a program that stays says what happens, on standard error.
package enum LogFormat: String, CaseIterable, Sendable, ExpressibleByArgument {
    /// Lines for people.
    case text
    /// An object on each line.
    case json

    /// Standard error has one form for the whole process.
    private static let isJSONInForce = Atomic<Bool>(false)

    static var isJSON: Bool { isJSONInForce.load(ordering: .relaxed) }

    /// Has this process write in this form from now on.
    package func use() { Self.isJSONInForce.store(self == .json, ordering: .relaxed) }

    /// What happened, as an object: `time`, `level`, `message`, and in `metadata` what belongs to it.
    static func line(_ message: String, _ level: Logger.Level, _ metadata: [(String, String)] = []) -> String {
        let json = JSONValue.object([
            "time": .time(SystemTime().now), "level": .string(level.rawValue), "message": .string(message),
        ])
        if metadata.isEmpty { return json.text }
        let facts = metadata.map { JSONValue.Member(key: $0.0, value: .string($0.1)) }
        return json.adding(["metadata": .object(facts)]).text
    }
}

/// How a program that stays says what happens.
package struct LogOptions: ParsableArguments {
    @Option(help: .init("How to say what happens, on standard error: text or json.", valueName: "format"))
    package var logFormat: LogFormat = .text

    package init() {}
}
