import CoreMetrics
import Foundation
import PenstockCore
import PenstockFormats
import PenstockProcesses
import PenstockTestKit
import ServiceLifecycle
import Testing

@testable import PenstockMetrics

/// Over real sockets.
@Suite(.timeLimit(.minutes(5))) struct MetricsListenerTests {
    private let room = TemporaryFolder()

    private func text() -> PrometheusText {
        var text = PrometheusText()
        text.begin("a", .gauge, "A.")
        text.sample(1)
        return text
    }

    /// What is answered to `request`, until the other end closes.
    private func answer(_ request: String, at address: ListenAddress) async throws -> String {
        try await SystemThread.run {
            let socket = try StreamSocket.connected(to: address.place, timeout: .seconds(60))
            defer { socket.close() }
            socket.write(Array(request.utf8))
            var bytes: [UInt8] = []
            while case let more = socket.read(4096), !more.isEmpty { bytes += more }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    @Test func itAnswersAtAPort() async throws {
        let listener = try MetricsListener(at: .port(host: "127.0.0.1", 0)) { text() }
        defer { listener.stop() }
        let answer = try await answer("GET /metrics HTTP/1.1\r\nHost: localhost:1\r\n\r\n", at: listener.address)
        #expect(answer.hasPrefix("HTTP/1.0 200 OK\r\n"))
        #expect(answer.contains("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
        #expect(answer.hasSuffix("\r\n\r\n# HELP a A.\n# TYPE a gauge\na 1\n"))
    }

    @Test func aSocketInTheFileSystemIsItsOwnersAlone() async throws {
        let path = "\(room.path)/metrics.sock"
        // One that a killed process has left is in nobody's way.
        try StreamSocket.listening(at: .path(path)).close()
        // Another process is about to take it over: it would remove what this one has made, or this one what that one has.
        let lock = try SocketLock(of: path)
        let early = #expect(throws: PenstockError.self) { try MetricsListener(at: .unix(path: path)) { text() } }
        #expect(early?.code == .storage)
        #expect(FileManager.default.fileExists(atPath: path))
        lock.release()
        let listener = try MetricsListener(at: .unix(path: path)) { text() }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        #expect(try await answer("GET /metrics HTTP/1.0\r\n\r\n", at: listener.address).hasPrefix("HTTP/1.0 200"))
        // A second one does not take it away.
        let error = #expect(throws: PenstockError.self) { try MetricsListener(at: .unix(path: path)) { text() } }
        #expect(error?.code == .storage)
        listener.stop()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func aFileThatIsNoSocketStays() throws {
        let path = "\(room.path)/file"
        try Data("x".utf8).write(to: URL(filePath: path))
        #expect(throws: PenstockError.self) { try MetricsListener(at: .unix(path: path)) { text() } }
        #expect(FileManager.default.contents(atPath: path) == Data("x".utf8))
    }

    @Test(arguments: [
        ("GET / HTTP/1.0", "404"), ("POST /metrics HTTP/1.0", "405"), ("nonsense", "405"),
        ("GET /metrics HTTP/1.1\r\nHOST: evil.example:80", "421"),
        ("GET /metrics HTTP/1.1\r\nHost: 127.evil.example:80", "421"),
        ("GET /metrics?x=1 HTTP/1.1\r\nHost: [::1]:9", "200"),
        ("GET /metrics HTTP/1.1\r\nhost: 127.0.0.1", "200"),
    ])
    func otherRequests(head: String, status: String) async throws {
        let answer = MetricsRequest(Array((head + "\r\n\r\n").utf8)).answer(checksHost: true) { text().bytes }
        #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.0 \(status) "))
    }

    @Test func aHeadWithoutAnEndIsNotAnswered() async throws {
        let listener = try MetricsListener(at: .port(host: "127.0.0.1", 0)) { text() }
        defer { listener.stop() }
        let long = "GET /metrics HTTP/1.0\r\nX: " + String(repeating: "x", count: 10_000)
        #expect(try await answer(long, at: listener.address).isEmpty)
        // And the next one is.
        #expect(try await answer("GET /metrics HTTP/1.0\r\n\r\n", at: listener.address).hasPrefix("HTTP/1.0 200"))
    }

    /// Otherwise a signal ends the process.
    @Test func anAnswerToAClientThatHasGoneFails() throws {
        let place = StreamSocket.Place.path(room.file("gone"))
        let listener = try StreamSocket.listening(at: place)
        defer { listener.close() }
        let client = try StreamSocket.connected(to: place, timeout: .seconds(60))
        let request = Array("GET /metrics".utf8)
        #expect(client.write(request))
        client.close()
        let connection = try #require(listener.accepted(timeout: .seconds(60)))
        defer { connection.close() }
        #expect(connection.read(4096) == request)
        #expect(!connection.write([1]))
    }

    @Test func otherMachinesReachNothing() {
        for address in ["0.0.0.0:0", "192.168.0.1:0", "example.org:80"] {
            #expect(throws: PenstockError.self) { try MetricsService(RecordedMetrics(), at: address) }
        }
    }

    @Test func aServiceServesUntilItIsStopped() async throws {
        let metrics = RecordedMetrics()
        Counter(label: "c", factory: metrics).increment(by: 4)
        let path = "\(room.path)/service.sock"
        let service = try MetricsService(metrics, at: "unix:\(path)")
        let run = Task { try await service.run() }
        try await eventually { FileManager.default.fileExists(atPath: path) }
        let answer = try await answer("GET /metrics HTTP/1.0\r\n\r\n", at: .unix(path: path))
        #expect(answer.contains("\nc_total 4\n"))
        #expect(answer.contains("\nprocess_cpu_seconds_total "))
        run.cancel()
        try await run.value
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
