import Foundation
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

@testable import PenstockPostgres

/// What an address leaves out comes from where libpq looks for it, so that no password need stand where other users see it.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct PasswordTests {
    private let servers: FaultyServers
    private let node: FaultyServers.Node
    private let folder = TemporaryFolder()

    init() async throws {
        servers = try FaultyServers()
        node = servers.node("a")
        // The first line that fits is the one that counts.
        try await servers.command(
            "sh", "-c",
            """
            mkdir -p "$0" && printf '%s\\n' 'local all mill scram-sha-256' 'local all all trust' > "$0/hba"
            """, node.socketFolder)
        try await servers.makePrimary(node, settings: ["hba_file = '\(node.socketFolder)/hba'"])
        // A server of release 13 keeps passwords in another form, unless it is told.
        try await servers.ask(
            node,
            """
            SET password_encryption = 'scram-sha-256';
            CREATE ROLE mill LOGIN SUPERUSER PASSWORD '\(Tool.password)'
            """)
    }

    /// A file that nobody else may read, or libpq passes over it.
    private func file(_ name: String, _ text: String) -> String {
        let path = folder.file(name)
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
        return path
    }

    private func run(
        _ arguments: [String], at url: String, _ variables: [Environment.Key: String?]
    ) async throws -> Tool.Outcome {
        let result = try await Subprocess.run(
            .path(Tool.path), arguments: Arguments(arguments),
            environment: Tool.environment(url).updating(variables), output: .string(limit: 65_536),
            error: .string(limit: 65_536))
        return Tool.Outcome(
            status: result.terminationStatus, output: result.standardOutput, errors: result.standardError)
    }

    @Test func aPasswordComesFromWhereLibpqLooksForIt() async throws {
        let named = node.address.replacing("//penstock@", with: "//mill@")
        let place = "host=\(node.socketFolder)\nuser=mill\ndbname=postgres\n"
        let passwords = file("passwords", "*:*:*:mill:\(Tool.password)\n")
        let services = file("services", "[shop]\n\(place)password=\(Tool.password)\n[open]\n\(place)")
        let ways: [(url: String, variables: [Environment.Key: String?])] = [
            (named, ["PGPASSWORD": Tool.password]),
            (named, ["PGPASSFILE": passwords]),
            ("postgres:///?service=shop", ["PGSERVICEFILE": services]),
            ("postgres://", ["PGSERVICEFILE": services, "PGSERVICE": "shop"]),
            ("postgres:///?service=open&schema=other", ["PGSERVICEFILE": services, "PGPASSFILE": passwords]),
        ]
        for (url, variables) in ways {
            let made = try await run(["queue", "create", "q", "--if-absent"], at: url, variables)
            #expect(made.status == .exited(0), "\(url): \(made.errors)")
            let enqueued = try await run(["enqueue", "q", "hello"], at: url, variables)
            #expect(enqueued.status == .exited(0), "\(url): \(enqueued.errors)")
        }
        #expect(try await servers.ask(node, "SELECT count(*) FROM penstock.penstock_log") == ["4"])
        #expect(try await servers.ask(node, "SELECT count(*) FROM other.penstock_log") == ["1"])
    }

    /// The advice is the same for none and for a wrong one, and has nothing of it.
    @Test func aPasswordThatIsMissingOrWrongIsSaid() async throws {
        let named = node.address.replacing("//penstock@", with: "//mill@")
        let ways: [[Environment.Key: String?]] = [
            ["PGPASSWORD": nil, "PGPASSFILE": folder.file("none")], ["PGPASSWORD": "wrong-\(Tool.password)"],
        ]
        for variables in ways {
            let refused = try await run(["queue", "create", "q"], at: named, variables)
            #expect(refused.status == .exited(77), "\(refused.errors)")
            #expect(refused.output == "" && refused.errors.count { $0 == "\n" } == 1, "\(refused.errors)")
            #expect(refused.errors.contains("look at the user, PGPASSWORD and ~/.pgpass"), "\(refused.errors)")
            #expect(!refused.errors.contains(Tool.password), "\(refused.errors)")
        }
    }
}
