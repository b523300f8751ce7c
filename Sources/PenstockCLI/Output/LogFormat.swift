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
        var members: [JSONValue.Member] = [
            .init(key: "time", value: .time(SystemTime().now)),
            .init(key: "level", value: .string(level.rawValue)),
            .init(key: "message", value: .string(message)),
        ]
        if !metadata.isEmpty {
            members.append(
                .init(key: "metadata", value: .object(metadata.map { .init(key: $0.0, value: .string($0.1)) })))
        }
        return JSONValue.object(members).text
    }
}

/// How a program that stays says what happens.
package struct LogOptions: ParsableArguments {
    @Option(help: .init("How to say what happens, on standard error: text or json.", valueName: "format"))
    package var logFormat: LogFormat = .text

    package init() {}
}
