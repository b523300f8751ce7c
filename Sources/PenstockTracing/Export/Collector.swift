import PenstockCore
import PenstockProcesses

/// What became of a batch of spans.
enum CollectorAnswer: Equatable, Sendable {
    /// The collector has it, but for as many spans as it says, and why.
    case taken(rejected: Int, reason: String)
    /// It could not be had this time.
    case mayPass(String)
    /// It will not take this.
    case refused(String)
}

/// Where spans go: the address of an OpenTelemetry collector.
struct Collector: Hashable, Sendable, CustomStringConvertible {
    let host: String
    let port: Int
    let path: String
    /// Further headers, such as a key.
    var headers: [String: String] = [:]

    private static let answerBytesMax = 64 * 1024

    /// - Parameter url: such as `http://localhost:4318/v1/traces`.
    /// - Throws: `PenstockError` with code `invalidInput` when it is none, or TLS is asked for.
    init(_ url: String) throws(PenstockError) {
        let scheme = "http://"
        try require(
            !url.hasPrefix("https://"),
            "Spans are handed over by http:// alone; give the address of a collector on this machine or network, which speaks TLS with whoever is next."
        )
        let refusal = PenstockError(
            .invalidInput, "'\(url.prefix(200))' is no address of a collector; write http://HOST:PORT.")
        guard url.hasPrefix(scheme), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw refusal }
        let rest = url.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        path = rest.count == authority.count ? "/" : String(rest.dropFirst(authority.count))
        let (name, number) = Self.parts(of: authority)
        guard !name.isEmpty, !name.contains(where: "@[]".contains), let port = number.map({ Int($0) }) ?? 4318,
            (1...65_535).contains(port)
        else { throw refusal }
        host = String(name)
        self.port = port
    }

    /// The host and the port of `host:port` or `[::1]:port`.
    private static func parts(of authority: Substring) -> (host: Substring, port: Substring?) {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            let rest = authority[authority.index(after: end)...]
            return (authority[..<end].dropFirst(), rest.isEmpty ? nil : rest.hasPrefix(":") ? rest.dropFirst() : rest)
        }
        guard let colon = authority.firstIndex(of: ":") else { return (authority, nil) }
        return (authority[..<colon], authority[authority.index(after: colon)...])
    }

    var description: String { "http://\(authority)\(path)" }

    private var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Hands over a batch. It blocks.
    ///
    /// - Parameter timeout: how long connecting, and then sending and the answer, may take.
    func post(_ body: [UInt8], timeout: Duration) -> CollectorAnswer {
        let socket: StreamSocket
        do throws(PenstockError) {
            socket = try StreamSocket.connected(toHost: host, port: port, timeout: timeout)
        } catch {
            return .mayPass(error.message)
        }
        defer { socket.close() }
        let deadline = ContinuousClock.now + timeout
        guard socket.write(head(contentLength: body.count) + body, by: deadline) else {
            return .mayPass("it did not read them in time")
        }
        var answer: [UInt8] = []
        while answer.count < Self.answerBytesMax, !Self.isWhole(answer) {
            let more = socket.read(Self.answerBytesMax - answer.count, by: deadline)
            if more.isEmpty { break }
            answer += more
        }
        return Self.answer(answer)
    }

    private func head(contentLength: Int) -> [UInt8] {
        var lines = [
            "POST \(path) HTTP/1.1", "Host: \(authority)", "Content-Type: application/json",
            "Content-Length: \(contentLength)", "User-Agent: OTel-OTLP-Exporter-Swift/Penstock", "Connection: close",
        ]
        lines += headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// Whether that is all of an answer, by its own word. A collector may keep the connection, though it is asked to close it; without a
    /// word on its length an answer ends with the connection.
    static func isWhole(_ bytes: [UInt8]) -> Bool {
        guard let gap = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
        let lines = String(decoding: bytes[..<gap.lowerBound], as: UTF8.self).split(whereSeparator: \.isNewline)
        let name = "content-length:"
        guard let line = lines.first(where: { $0.lowercased().hasPrefix(name) }),
            let length = Int(line.dropFirst(name.count).filter { !$0.isWhitespace })
        else { return false }
        return bytes.count - gap.upperBound >= length
    }

    /// What an answer means (https://opentelemetry.io/docs/specs/otlp/#otlphttp-response).
    static func answer(_ bytes: [UInt8]) -> CollectorAnswer {
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.prefix { !$0.isNewline }.split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            return .mayPass("it did not answer in time")
        }
        switch status {
        case 200..<300:
            let rejected = rejectedCount(in: text)
            return .taken(rejected: rejected, reason: rejected > 0 ? "it rejected them" : "it is too slow")
        case 429, 502, 503, 504: return .mayPass("it answers with status \(status)")
        default: return .refused("it answers with status \(status)")
        }
    }

    /// `partialSuccess.rejectedSpans` of an answer, a number that JSON has as a text.
    private static func rejectedCount(in text: String) -> Int {
        guard let name = text.firstRange(of: "\"rejectedSpans\"") else { return 0 }
        let digits = text[name.upperBound...].drop { ": \"".contains($0) }.prefix { $0.isNumber }
        return Int(digits) ?? 0
    }
}
