import CPenstockPostgres
import Foundation

/// Tells of bytes that the TLS library has taken from the socket, and libpq has not taken from it.
///
/// A record of TLS has up to 16 KiB, and libpq may have room for half of one. The rest of it makes the socket no longer readable: a thread
/// that waits for the socket then waits for what it already has. libpq's own calls know that and do not wait, but they have no deadline.
///
/// Source: https://docs.openssl.org/3.0/man3/SSL_pending/
enum UnreadTLS {
    private typealias Pending = @convention(c) (UnsafeMutableRawPointer) -> Int32

    // libpq brings OpenSSL along, and its headers tell nothing of it. A libpq without it makes no such connection.
    private static let pending: Pending? = dlsym(dlopen(nil, RTLD_LAZY), "SSL_pending").map {
        // `SSL_pending` is a C function that takes a pointer and gives an int.
        unsafeBitCast($0, to: Pending.self)
    }

    /// Whether there is something for libpq to read, though the socket may have nothing.
    static func isThere(for connection: OpaquePointer) -> Bool {
        guard let tls = PQsslStruct(connection, "OpenSSL") else { return false }
        return pending.map { $0(tls) > 0 } ?? false
    }
}
