import Foundation

/// The `sqlite3` shell, as a person uses it.
struct SQLiteShell {
    let path: String

    struct Answer: Sendable {
        var status: Int32
        var output: String
        var errors: String
    }

    /// Feeds `sql` to the shell, which stops at the first error.
    @discardableResult
    func run(_ sql: String) async throws -> Answer {
        let path = path
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Result { try Self.run(sql, path) })
            }
        }
    }

    private static func run(_ sql: String, _ path: String) throws -> Answer {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", "-batch", "-bail", path]
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(sql.utf8))
        try input.fileHandleForWriting.close()
        // The answers of these tests fit into a pipe, so one can be read after the other.
        let out = try output.fileHandleForReading.readToEnd() ?? Data()
        let err = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Answer(
            status: process.terminationStatus, output: String(decoding: out, as: UTF8.self),
            errors: String(decoding: err, as: UTF8.self))
    }
}
