import Foundation
package import PenstockCore

extension StreamSocket {
    /// Connects to the process that listens at a port of any machine. The addresses of the host are tried one after the other.
    ///
    /// - Parameters:
    ///   - host: a name, or an address of IP version 4 or 6, that one without brackets.
    ///   - timeout: how long each connecting, and then each reading and writing, may take.
    /// - Throws: `PenstockError` with code `storage` when the host has no address, or none of them answers.
    package static func connected(
        toHost host: String, port: Int, timeout: Duration
    ) throws(PenstockError) -> StreamSocket {
        var wanted = addrinfo()
        wanted.ai_family = AF_UNSPEC
        wanted.ai_socktype = stream
        var first: UnsafeMutablePointer<addrinfo>?
        let failure = getaddrinfo(host, String(port), &wanted, &first)
        defer { if let first { freeaddrinfo(first) } }
        guard failure == 0 else {
            throw PenstockError(.storage, "\(host) has no address: \(String(cString: gai_strerror(failure))).")
        }
        var code = ENOENT
        var next = first
        while let found = next?.pointee {
            next = found.ai_next
            let descriptor = socket(found.ai_family, stream, 0)
            guard descriptor >= 0 else { throw SystemErrors.failure("No socket can be made", errno) }
            let made = StreamSocket(descriptor: descriptor)
            made.prepare(timeout: timeout)
            if made.connect(to: found.ai_addr, found.ai_addrlen) { return made }
            code = errno
            made.close()
        }
        throw SystemErrors.failure("Nobody can be reached at \(host):\(port)", code)
    }
}
