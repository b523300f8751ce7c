internal import PenstockFormats

/// A request of whoever fetches metrics, and the answer to it, as HTTP/1.0 has both: one request for each connection.
struct MetricsRequest {
    private let method: Substring
    private let path: Substring
    /// The host that the request was meant for, without a port; `nil`: it names none.
    private let host: String?

    /// - Parameter head: everything up to the empty line. What is no head is a request of no method.
    init(_ head: [UInt8]) {
        let lines = String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline)
        let words = lines.first?.split(separator: " ") ?? []
        method = words.count == 3 ? words[0] : ""
        path = words.count == 3 ? words[1].prefix { $0 != "?" } : ""
        host = lines.dropFirst().first { $0.lowercased().hasPrefix("host:") }.map {
            let authority = $0.dropFirst("host:".count).drop { $0 == " " }
            return authority.hasPrefix("[")
                ? String(authority.prefix { $0 != "]" }.dropFirst()) : String(authority.prefix { $0 != ":" })
        }
    }

    /// The whole answer.
    ///
    /// - Parameter checksHost: whether requests that were meant for another host are refused. A page of the web can have its own name
    ///   lead to this machine, and then a browser would let it read the answer.
    func answer(checksHost: Bool, _ text: () -> [UInt8]) -> [UInt8] {
        guard method == "GET" || method == "HEAD" else { return Self.plain("405 Method Not Allowed", "Use GET.") }
        if checksHost, let host, !ListenAddress.isLocal(host: host) {
            return Self.plain("421 Misdirected Request", "This is not \(host.prefix(100)).")
        }
        guard path == "/metrics" else { return Self.plain("404 Not Found", "The metrics are at /metrics.") }
        return Self.response("200 OK", PrometheusText.contentType, text(), hasBody: method == "GET")
    }

    private static func plain(_ status: String, _ sentence: String) -> [UInt8] {
        response(status, "text/plain; charset=utf-8", Array((sentence + "\n").utf8), hasBody: true)
    }

    private static func response(_ status: String, _ type: String, _ body: [UInt8], hasBody: Bool) -> [UInt8] {
        let head =
            "HTTP/1.0 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.count)\r\n"
            + "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
        return Array(head.utf8) + (hasBody ? body : [])
    }
}
