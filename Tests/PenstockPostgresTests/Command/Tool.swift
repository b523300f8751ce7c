import Foundation
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

@testable import PenstockPostgres

/// The built `penstock`, and a schema of its own in the tests' server.
struct Tool {
    /// How a run of it ended.
    struct Outcome {
        var status: TerminationStatus
        var output: String
        var errors: String
    }

    let url: String
    let schema: String

    init() throws {
        schema = PostgresServer.newName()
        url = try PostgresServer.shared.get().url(schema: schema)
    }

    static let path = FilePath(BuiltPrograms.path("penstock"))

    /// The environment of the program, with PENSTOCK_DB.
    static func environment(_ url: String) -> Environment { .inherit.updating(["PENSTOCK_DB": url]) }

    /// Runs the program to its end, with this schema in PENSTOCK_DB or with another address.
    func run(_ arguments: [String], at url: String? = nil, input: String = "") async throws -> Outcome {
        let result = try await Subprocess.run(
            .path(Self.path), arguments: Arguments(arguments), environment: Self.environment(url ?? self.url),
            input: .string(input), output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        return Outcome(
            status: result.terminationStatus, output: result.standardOutput, errors: result.standardError)
    }

    /// Runs the program, and records an issue when it does not end well.
    @discardableResult
    func succeed(
        _ arguments: [String], at url: String? = nil, input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let outcome = try await run(arguments, at: url, input: input)
        #expect(outcome.status == .exited(0), "\(arguments): \(outcome.errors)", sourceLocation: sourceLocation)
        return outcome.output
    }

    /// Runs the program, and records an issue unless it ends with `status`, no output, and one line that has `words` and no password.
    func fail(
        _ arguments: [String], at url: String? = nil, with status: Int32, saying words: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let outcome = try await run(arguments, at: url)
        #expect(outcome.status == .exited(status), "\(arguments): \(outcome.errors)", sourceLocation: sourceLocation)
        #expect(outcome.output == "", sourceLocation: sourceLocation)
        #expect(outcome.errors.contains(words), "\(outcome.errors)", sourceLocation: sourceLocation)
        #expect(!outcome.errors.contains(Self.password), "\(outcome.errors)", sourceLocation: sourceLocation)
        #expect(
            outcome.errors.hasPrefix("penstock: ") && outcome.errors.count { $0 == "\n" } == 1,
            "not one line: \(outcome.errors)", sourceLocation: sourceLocation)
    }

    /// What no error may have in it.
    static let password = "geheim"

    /// Runs statements at the server, as its superuser, beside whoever works there.
    ///
    /// - Returns: how many rows the last one gave.
    @discardableResult
    func sql(_ statements: String) throws -> Int { Int(try answer(to: statements).rowCount) }

    /// The first column of what a statement finds, as texts.
    func column(_ statement: String) throws -> [String] {
        let found = try answer(to: statement)
        return (0..<found.rowCount).map { found.text($0, 0) }
    }

    private func answer(to statements: String) throws -> ServerResult {
        try ServerConnection(ServerAddress(url)).run(
            "SET client_min_messages = warning; SET search_path = \(schema); " + statements)
    }

    /// Whether anybody has made the schema.
    func isThere() throws -> Bool { try sql("SELECT 1 FROM pg_namespace WHERE nspname = '\(schema)'") > 0 }
}
