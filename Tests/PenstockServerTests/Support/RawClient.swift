import Dispatch
import Foundation
import PenstockCore

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
    init(port: Int) throws {
        #if canImport(Glibc)
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            descriptor = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        // A server that says nothing fails the test, and does not hang it.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw PenstockError(.storage, "No connection to port \(port): errno \(errno).") }
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

    func send(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw PenstockError(.storage, "Nothing can be sent: errno \(errno).") }
            bytes = bytes.dropFirst(count)
        }
    }

    /// What has come, once it has `words`, or once the server has hung up.
    func receive(until words: String? = nil) async throws -> String {
        let descriptor = descriptor
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
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

    /// Closes the connection.
    func hangUp() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }
}

extension TestServer {
    /// A client of its own.
    func client() throws -> RawClient { try RawClient(port: url.port ?? 0) }
}
