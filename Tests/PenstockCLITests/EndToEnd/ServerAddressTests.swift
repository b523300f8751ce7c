import Foundation
import Testing

@testable import PenstockCLI

/// What `--db` makes of addresses of servers, and of what looks like one.
@Suite(.timeLimit(.minutes(5)))
struct ServerAddressTests {
    @Test(arguments: ["localhost:7741", "127.0.0.1:7741", "[::1]:7741"])
    func aPortIsToldFromAFile(_ path: String) async throws {
        try await Tool.empty().fail(
            ["status", "--db", path], with: 66,
            saying: "There is no Penstock file at \(path); for a server write http://\(path).")
    }

    @Test func aSchemeIsReadInLettersOfEitherCase() async throws {
        try await Tool.empty().fail(
            ["status", "--db", "HTTP://127.0.0.1:1"], with: 69,
            saying: "The server at http://127.0.0.1:1 cannot be reached")
    }

    /// A worker's command has the address in PENSTOCK_DB, and may go to another folder.
    @Test func theAddressOfASocketHoldsInEveryFolder() {
        let here = FileManager.default.currentDirectoryPath
        let address = "UNIX:s.sock"
        let absolute = "\(here)/s.sock"
        #expect(StoreFile(path: address).absolutePath == (absolute.utf8.count < 104 ? "UNIX:" + absolute : address))
        // The way from the root has no room in it.
        let long = "unix:" + String(repeating: "x", count: 100)
        for same in ["unix:/run/s", "http://host:1", "postgres:///db", "/a/b.db", long] {
            #expect(StoreFile(path: same).absolutePath == same)
        }
        #expect(StoreFile(path: "b.db").absolutePath == "\(here)/b.db")
    }

    @Test(arguments: ["status", "doctor", "serve"])
    func anotherSchemeIsRefused(_ command: String) async throws {
        try await Tool.empty().fail(
            [command, "--db", "ftp://x"], with: 64, saying: "ftp://x is no address of a server; write http://HOST:PORT")
    }

    @Test(arguments: [["doctor"], ["backup", "b"], ["restore", "b"], ["migrate"], ["serve"]])
    func whatNeedsTheFileSaysSo(_ arguments: [String]) async throws {
        let tool = try Tool.empty()
        try await tool.fail(
            arguments + ["--db", "http://127.0.0.1:1"], with: 64,
            saying: "`penstock \(arguments[0])` needs the file itself, and http://127.0.0.1:1 is a server")
        let help = try await tool.succeed([arguments[0], "--help"]).output
        #expect(help.contains("--db <path>") && !help.contains("http://HOST"))
    }

    @Test func theTokenIsInTheHelp() async throws {
        let tool = try Tool.empty()
        for arguments in [["--help"], ["status", "--help"]] {
            #expect(try await tool.succeed(arguments).output.contains("PENSTOCK_TOKEN"))
        }
        // The list breaks its lines between words.
        let words = try await tool.succeed(["--help"]).output.split(whereSeparator: \.isWhitespace)
        let help = words.joined(separator: " ")
        #expect(help.contains("the server cannot be reached"))
        #expect(help.contains("the server asks for a token"))
    }
}
