import Foundation
import PenstockCore
import PenstockProcesses

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A client that speaks as it wants, and hangs up when it wants.
final class RawClient: Sendable {
    private let descriptor: Int32

    /// Connects to a port of this machine.
    convenience init(port: Int) throws { try self.init(at: .port(host: "127.0.0.1", port)) }

    /// Connects to a program of this machine.
    init(at place: StreamSocket.Place) throws {
        // A server that says nothing fails the test, and does not hang it.
        descriptor = try StreamSocket.connected(to: place, timeout: .seconds(120)).descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Makes a request with a body of JSON, or none, and leaves the connection open.
    func request(_ method: String, _ path: String, headers: [String: String] = [:], body: String = "") throws {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        try send(head + "\r\n" + body)
    }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    /// Sends bytes that may be no text.
    func send(_ bytes: [UInt8]) throws {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw PenstockError(.storage, "Nothing can be sent: errno \(errno).") }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Makes a request in whose head stands one byte that is no UTF-8, ü in Latin-1, where `head` has a `ü`; and takes the answer.
    func answer(inLatin1 head: String, body: String = "") async throws -> String {
        try send(head.unicodeScalars.map { UInt8($0.value) } + Array(body.utf8))
        finish()
        return try await receive()
    }

    /// What has come, once it has `words`, or once the server has hung up.
    func receive(until words: String? = nil) async throws -> String {
        let descriptor = descriptor
        return try await withCheckedThrowingContinuation { continuation in
            // On a thread of its own: tasks of the server run on those of Dispatch.
            Thread.detachNewThread {
                var received: [UInt8] = []
                var part = [UInt8](repeating: 0, count: 65_536)
                while true {
                    if let words, String(decoding: received, as: UTF8.self).contains(words) { break }
                    let count = read(descriptor, &part, part.count)
                    if count < 0 {
                        let text = String(decoding: received.suffix(500), as: UTF8.self)
                        return continuation.resume(
                            throwing: PenstockError(.timedOut, "The server says no more: errno \(errno), after \(text)")
                        )
                    }
                    if count == 0 { break }
                    received += part[..<count]
                }
                continuation.resume(returning: String(decoding: received, as: UTF8.self))
            }
        }
    }

    /// Says that nothing more comes, and goes on reading.
    func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes the connection.
    func hangUp() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }
}

extension TestServer {
    /// A client of its own.
    func client() throws -> RawClient { try RawClient(port: url.port ?? 0) }
}
