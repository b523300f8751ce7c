import HTTPTypes
package import Hummingbird
package import NIOCore
import NIOHTTP1

extension Request {
    /// Whether it asks for what is there. HEAD is a GET whose answer has no body (RFC 9110, 9.3.2).
    package var isGetOrHead: Bool { method == .get || method == .head }

    /// The body, all of it.
    ///
    /// - Throws: a problem with status 413 when it has more than `bytesMax` bytes. What is too large by its own word is not read.
    package func wholeBody(bytesMax: Int) async throws -> ByteBuffer {
        let tooLarge = Problem(
            .contentTooLarge, code: "tooLarge", "The body of this request has at most \(bytesMax) bytes.")
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > bytesMax { throw tooLarge }
        var whole = ByteBuffer()
        for try await part in body {
            guard whole.readableBytes + part.readableBytes <= bytesMax else { throw tooLarge }
            whole.writeImmutableBuffer(part)
        }
        return whole
    }
}

/// That a body is none from somewhere on, as it was read.
package struct BrokenBody: Sendable {
    /// Whether it ends too early: the client has closed the connection, or its own half of it.
    package let isCutShort: Bool

    /// `nil`: the error is another one.
    package init?(_ error: any Error) {
        guard let error = error as? HTTPParserError else { return nil }
        isCutShort = error == .invalidEOFState
    }
}

extension Request {
    /// Whether the client speaks TLS with the proxy that the request came through.
    package var cameByTLS: Bool { headers[.forwardedProtocol] == "https" }
}

extension HTTPField.Name {
    /// How a client speaks with a proxy.
    fileprivate static let forwardedProtocol = HTTPField.Name(known: "X-Forwarded-Proto")
}
