import Foundation
import PenstockTestKit
import Subprocess
import SystemPackage
import Testing

/// Addresses of databases that lead nowhere: one sentence each, the right status, and no password in it.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct WrongAddressTests {
    @Test(arguments: [
        ("postgres://mill:geheim@127.0.0.1:1/x", 69, "cannot be reached"),
        ("postgresql://mill:geheim@/x?host=/nowhere", 69, "cannot be reached"),
        ("postgres://mill@127.0.0.1:1/x?password=geheim", 69, "cannot be reached"),
        ("postgres://mill:geheim@127.0.0.1:port/x", 64, "cannot be used"),
        ("postgres://mill:ge/geheim@127.0.0.1:1/x", 64, "cannot be read"),
        ("postgres://mill:ge@geheim@127.0.0.1:1/x", 64, "cannot be read"),
        ("postgres://mill:%zzgeheim@127.0.0.1:1/x", 64, "cannot be read"),
        ("postgres://mill:geheim@127.0.0.1:1/x?nonsense=1", 64, "has a parameter 'nonsense'"),
        ("postgres://mill:ge?geheim=1&x@127.0.0.1:1/x?nonsense=1", 64, "cannot be read"),
        ("postgres:/mill:geheim@127.0.0.1:1/x", 64, "This is no address of a PostgreSQL database"),
        ("postgres://mill:geheim@127.0.0.1:1/x?schema=pg_x", 64, "The schema of the address"),
        ("postgres://mill:geheim@127.0.0.1:1/x?schema=%24user", 64, "The schema of the address"),
        ("postgres://mill:geheim@127.0.0.1:1/x?schema=", 64, "The schema of the address"),
        ("host=127.0.0.1 password=geheim", 66, "There is no Penstock file"),
    ])
    func whatIsWrongIsSaidWithoutThePassword(_ url: String, _ status: Int32, _ words: String) async throws {
        let tool = try Tool()
        try await tool.fail(["status"], at: url, with: status, saying: words)
        try await tool.fail(["enqueue", "q", "x", "--db", url], at: "x.db", with: status, saying: words)
    }

    /// The server's refusals come by its letters, whatever its language.
    @Test func refusalsOfTheServerHaveTheirStatuses() async throws {
        let tool = try Tool()
        let other = tool.url.replacing("/postgres?", with: "/nosuch?")
        try await tool.fail(["queue", "create", "q"], at: other, with: 66, saying: "There is no such database")
        let nobody = tool.url.replacing("//penstock@", with: "//nobody:geheim@")
        try await tool.fail(["queue", "create", "q"], at: nobody, with: 77, saying: "does not let this user in")
        #expect(try !tool.isThere())
    }

    /// `penstock` and `penstock-server` find the programs for databases in their own folder.
    @Test(arguments: [
        (["status"], "The command for a store in a PostgreSQL database", "penstock-postgres"),
        (["serve"], "The server for a store in a PostgreSQL database", "penstock-postgres-server"),
    ])
    func aMissingCompanionIsNamed(_ arguments: [String], _ title: String, _ companion: String) async throws {
        let folder = TemporaryFolder()
        let program = folder.file("penstock")
        for name in ["penstock", "penstock-server"] {
            try FileManager.default.linkItem(atPath: BuiltPrograms.path(name), toPath: folder.file(name))
        }
        let result = try await Subprocess.run(
            .path(FilePath(program)), arguments: Arguments(arguments),
            environment: Tool.environment("postgres://mill:geheim@127.0.0.1/x"), output: .discarded,
            error: .string(limit: 4096))
        #expect(result.terminationStatus == .exited(127))
        #expect(
            result.standardError.hasPrefix("penstock: \(title), \(folder.path)/\(companion), cannot be started"))
        #expect(result.standardError.contains("tools/install") && !result.standardError.contains("geheim"))
    }

    /// A machine without PostgreSQL needs no library of it.
    @Test func thePlainCommandDoesNotLinkTheLibrary() throws {
        func links(_ name: String) throws -> Bool {
            let program = try Data(contentsOf: URL(filePath: BuiltPrograms.path(name)), options: .alwaysMapped)
            return program.range(of: Data("libpq.".utf8)) != nil
        }
        #expect(try !links("penstock"))
        #expect(try !links("penstock-server"))
        #expect(try links("penstock-postgres"))
        #expect(try links("penstock-postgres-server"))
    }
}
