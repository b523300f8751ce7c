import Foundation
import PenstockFormats
import PenstockProcesses
import Subprocess
import Testing

@testable import PenstockCLI

/// What a worker says to those who watch over it.
@Suite(.timeLimit(.minutes(5)))
struct OperatingTests {
    private func metrics(at path: String) throws -> String {
        let socket = try StreamSocket.connected(to: .path(path), timeout: .seconds(60))
        defer { socket.close() }
        socket.write(Array("GET /metrics HTTP/1.0\r\n\r\n".utf8))
        var bytes: [UInt8] = []
        while case let more = socket.read(65_536), !more.isEmpty { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func aWorkersOwnNumbersAreServed() async throws {
        let tool = try await Tool.withQueue()
        let gate = try Gate(in: tool)
        try await tool.succeed(["enqueue", "q", "--lines"], input: Array("a\nb\n".utf8))
        let worker = try await Running.start(
            tool,
            ["work", "q", "--metrics", "unix:\(tool.folder)/m", "--", "sh", "-c", "echo begun; read x < \(gate.path)"])
        #expect(
            try await worker.errors.readLine()
                == "penstock: The metrics of this worker are at unix:\(tool.folder)/m, /metrics.")
        #expect(try await worker.output.readLine() == "begun")
        try gate.open()
        #expect(try await worker.output.readLine() == "begun")
        let text = try metrics(at: "\(tool.folder)/m")
        #expect(text.contains("\npenstock_claimed_total{queue=\"q\"} 2\n"))
        #expect(text.contains("\npenstock_done_total{queue=\"q\"} 1\n"))
        #expect(text.contains("\npenstock_running{queue=\"q\"} 1\n"))
        #expect(text.contains("\npenstock_work_seconds_count{queue=\"q\"} 1\n"))
        // It has not asked how many messages there are.
        #expect(!text.contains("penstock_depth") && !text.contains("penstock_ready_age"))
        #expect(!text.contains("\npenstock_store_writer_lock_wait_seconds_count 0\n"))
        #expect(text.contains("\npenstock_store_writer_lock_wait_seconds_count "))
        #expect(text.contains("\npenstock_build_info{version=\"\(Version.text)\"} 1\n"))
        #expect(text.contains("\nprocess_start_time_seconds "))
        // Penstock's own measurements are all explained.
        #expect(!text.contains("What the program records as"))
        try gate.open()
        worker.signal(15)
        #expect(try await worker.status == .exited(0))
        #expect(!FileManager.default.fileExists(atPath: "\(tool.folder)/m"))
    }

    @Test func metricsAreForThisMachineAlone() async throws {
        let tool = try await Tool.withQueue()
        try await tool.fail(
            ["work", "q", "--drain", "--metrics", "0.0.0.0:0", "--", "true"], with: 64, saying: "other machines")
    }

    @Test func logsAreObjectsWhereThatIsAskedFor() async throws {
        let tool = try await Tool.withQueue()
        try await tool.succeed(["enqueue", "q", "x"])
        let worker = try await Running.start(
            tool,
            [
                "work", "q", "--log-format", "json", "--verbose", "--grace", "100ms", "--", "sh", "-c",
                "echo begun; exec sleep 1000",
            ])
        #expect(try await worker.output.readLine() == "begun")
        worker.signal(15)
        _ = try await worker.status
        var messages: [String] = []
        while let line = try? await worker.errors.readLine(), !line.isEmpty {
            let object = try JSONObject(line)
            #expect(object["time"].text.hasSuffix("Z"))
            #expect(["debug", "info", "notice", "warning", "error"].contains(object["level"].text))
            messages.append(object["message"].text)
        }
        #expect(messages.contains { $0.hasPrefix("Stopping; commands that run have") })
    }

    @Test func anErrorIsAnObjectToo() async throws {
        let tool = try Tool.empty()
        let outcome = try await tool.run(["work", "q", "--log-format", "json", "--", "true"])
        #expect(outcome.status == .exited(66))
        let error = try JSONObject(try #require(outcome.errors.split(separator: "\n").first.map(String.init)))
        #expect(error["level"].text == "error")
        #expect(error["message"].text.hasPrefix("There is no Penstock file"))
    }

    @Test func aLinkThatLeadsToItselfIsNoMissingFile() async throws {
        let tool = try Tool.empty()
        let path = tool.folder + "/loop.db"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "loop.db")
        try await tool.fail(
            ["status", "--db", path], with: 66, saying: "is a link that leads to itself; name the file")
    }

    /// What the system says when a look at a path fails.
    @Test(arguments: [(ENOENT, true), (ENOTDIR, true), (EIO, false), (ENOMEM, false), (EINTR, false)])
    func aDiskThatDoesNotAnswerIsNoMissingFile(number: Int32, isMissing: Bool) {
        #expect(StoreFile.saysMissing(number) == isMissing)
    }

    /// Nor is a name of which the system says that it cannot be one.
    @Test(arguments: [["status", "--db"], ["restore"]])
    func aNameThatNoFileCanHaveIsNoMissingFile(_ words: [String]) async throws {
        let name = String(repeating: "n", count: 300)
        try await Tool.empty().fail(words + [name], with: 64, saying: "has 300 bytes")
    }

    /// What a server's answer means to a check.
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nServer: it\r\n\r\n{\"status\": \"ok\"}\n", true),
        ("HTTP/1.1 200 OK\r\n\r\n", false), ("HTTP/1.1 200 OK\r\n\r\n<html>ok</html>", false),
        ("HTTP/1.1 503 Service Unavailable\r\n", false), ("", false),
        ("SSH-2.0-OpenSSH\r\n", false), ("HTTP/1.1 x", false),
    ])
    func answersOfServers(text: String, isReady: Bool) throws {
        let (found, _) = ServerProbe.answer(Array(text.utf8), try ListenAddress("127.0.0.1:1"))
        #expect(found == isReady)
    }

    /// An address is taken as the server prints it, too.
    @Test(arguments: ["127.0.0.1:7700", "http://127.0.0.1:7700", "HTTP://127.0.0.1:7700/"])
    func addressesOfServers(text: String) throws {
        #expect(try ServerProbe.address(text) == .port(host: "127.0.0.1", 7700))
        #expect(try ServerProbe.address("unix:/run/s") == .unix(path: "/run/s"))
    }

    @Test func aServerThatIsNotThereIsCritical() async throws {
        let tool = try Tool.empty()
        let outcome = try await tool.run(["check", "--server", "unix:\(tool.folder)/none"])
        #expect(outcome.status == .exited(2))
        #expect(outcome.output == "fail  the server at unix:\(tool.folder)/none cannot be reached.\n")
        try await tool.fail(["check", "--all", "--server", "127.0.0.1:1"], with: 3, saying: "With --server")
        try await tool.fail(["check", "--server", "example.org:1"], with: 3, saying: "not of this machine")
    }
}
