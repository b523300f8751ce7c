import Foundation
import PenstockCore
import PenstockProcesses
import Synchronization

/// A collector of OpenTelemetry as small as can be: it takes what is posted, and answers as it is told to.
final class TestCollector: Sendable {
    /// A request, as it came.
    struct Received: Sendable {
        let head: String
        let body: Data
    }

    private struct State {
        var received: [Received] = []
        var answers: [String] = []
        var waiters: [(count: Int, CheckedContinuation<Void, Never>)] = []
        var isStopped = false
        var silent: [StreamSocket] = []
    }

    /// An answer that does not come: the connection stays open.
    static let silence = ""
    /// How an answer begins after which the connection stays open.
    static let kept = "kept "

    private let socket: StreamSocket
    private let state = Mutex(State())
    let port: Int

    /// - Parameter answers: the status lines of the first answers, each with a body behind a space if it has one; then `200 OK`.
    init(answers: [String] = []) throws {
        socket = try StreamSocket.listening(at: .port(host: "127.0.0.1", 0))
        port = socket.port ?? 0
        state.withLock { $0.answers = answers }
        try SystemThread.start("collector") { [self] in serve() }
    }

    deinit { socket.close() }

    var endpoint: String { "http://127.0.0.1:\(port)" }
    var received: [Received] { state.withLock { $0.received } }

    /// Waits until so many requests have come.
    func requests(_ count: Int) async -> [Received] {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                if state.received.count >= count {
                    continuation.resume()
                } else {
                    state.waiters.append((count, continuation))
                }
            }
        }
        return received
    }

    /// Everything that has come, span by span, each with the name of its service.
    func spans() throws -> [CollectedSpan] {
        try received.flatMap { try JSONDecoder().decode(CollectedRequest.self, from: $0.body).spans }
    }

    func stop() {
        let silent = state.withLock { state in
            state.isStopped = true
            defer { state.silent = [] }
            return state.silent
        }
        for connection in silent { connection.close() }
        shutdown(socket.descriptor, Int32(SHUT_RDWR))
    }

    private func serve() {
        while !state.withLock({ $0.isStopped }) {
            guard let connection = socket.accepted(timeout: .seconds(10)) else { continue }
            guard let request = Self.read(connection) else {
                connection.close()
                continue
            }
            let answer = state.withLock { $0.answers.isEmpty ? "200 OK {}" : $0.answers.removeFirst() }
            if answer == Self.silence {
                state.withLock { $0.silent.append(connection) }
                note(request)
                continue
            }
            let isKept = answer.hasPrefix(Self.kept)
            let parts = answer.dropFirst(isKept ? Self.kept.count : 0).split(separator: "{", maxSplits: 1)
            let body = parts.count == 2 ? "{" + parts[1] : ""
            // Before the answer: a client that has it may be asked at once what has come.
            note(request)
            connection.write(
                Array(
                    "HTTP/1.1 \(parts[0])\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
                        .utf8))
            if isKept { state.withLock { $0.silent.append(connection) } } else { connection.close() }
        }
    }

    private func note(_ request: Received) {
        state.withLock { state in
            state.received.append(request)
            let count = state.received.count
            for waiter in state.waiters where waiter.count <= count { waiter.1.resume() }
            state.waiters.removeAll { $0.count <= count }
        }
    }

    private static func read(_ connection: StreamSocket) -> Received? {
        var bytes: [UInt8] = []
        let end = Data("\r\n\r\n".utf8)
        while true {
            let more = connection.read(65_536)
            if more.isEmpty { return nil }
            bytes += more
            let data = Data(bytes)
            guard let range = data.range(of: end) else { continue }
            let head = String(decoding: data[..<range.lowerBound], as: UTF8.self)
            let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
                .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) }
            let body = data[range.upperBound...]
            if let length, body.count >= length { return Received(head: head, body: Data(body)) }
        }
    }
}

/// What a collector reads of a request.
struct CollectedRequest: Decodable {
    struct Program: Decodable {
        struct Resource: Decodable { let attributes: [CollectedAttribute] }
        struct Scope: Decodable { let spans: [CollectedSpan] }
        let resource: Resource
        let scopeSpans: [Scope]
    }

    let resourceSpans: [Program]

    var spans: [CollectedSpan] {
        resourceSpans.flatMap { program in
            program.scopeSpans.flatMap(\.spans).map { span in
                var span = span
                span.resource = program.resource.attributes
                return span
            }
        }
    }
}

struct CollectedAttribute: Decodable, Equatable {
    struct Value: Decodable, Equatable {
        struct Values: Decodable, Equatable { let values: [Value] }
        var stringValue: String?
        var intValue: String?
        var boolValue: Bool?
        var doubleValue: Double?
        var arrayValue: Values?
    }

    let key: String
    let value: Value
}

struct CollectedSpan: Decodable {
    struct Event: Decodable {
        let name: String
        let timeUnixNano: String
        let attributes: [CollectedAttribute]
    }

    struct Link: Decodable, Equatable {
        let traceId: String
        let spanId: String
    }

    struct Status: Decodable, Equatable {
        let code: Int
        let message: String?
    }

    let traceId: String
    let spanId: String
    let parentSpanId: String?
    let traceState: String?
    let name: String
    let kind: Int
    let startTimeUnixNano: String
    let endTimeUnixNano: String
    let attributes: [CollectedAttribute]?
    let events: [Event]?
    let links: [Link]?
    let status: Status?
    var resource: [CollectedAttribute]?

    func value(_ key: String) -> CollectedAttribute.Value? { attributes?.first { $0.key == key }?.value }
    func resource(_ key: String) -> String? { resource?.first { $0.key == key }?.value.stringValue }
}
