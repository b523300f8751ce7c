import Subprocess

/// The `sqlite3` shell, as a person uses it.
struct SQLiteShell {
    let path: String

    struct Answer: Sendable {
        var succeeded: Bool
        var output: String
        var errors: String
    }

    /// Feeds `sql` to the shell, which stops at the first error.
    @discardableResult
    func run(_ sql: String) async throws -> Answer {
        let result = try await Subprocess.run(
            .name("sqlite3"), arguments: ["-batch", "-bail", path], input: .string(sql),
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        return Answer(
            succeeded: result.terminationStatus.isSuccess, output: result.standardOutput,
            errors: result.standardError)
    }
}
