import Foundation
import PenstockCore

extension StreamSocket.Place: CustomStringConvertible {
    package var description: String {
        switch self {
        case .port(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .path(let path): path
        }
    }

    /// The value of `body`, which is given the address as the system has it.
    ///
    /// - Throws: `PenstockError` with code `invalidInput` for an address of another machine.
    func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) throws(PenstockError) -> Result {
        switch self {
        case .port(let host, let port) where host.contains(":"):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = UInt16(clamping: port).bigEndian
            guard host == "::1", inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { throw otherMachine }
            return Self.with(&address, body)
        case .port(let host, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(clamping: port).bigEndian
            let number = host == "localhost" ? "127.0.0.1" : host
            guard number.hasPrefix("127."), inet_pton(AF_INET, number, &address.sin_addr) == 1 else {
                throw otherMachine
            }
            return Self.with(&address, body)
        case .path(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            try require(
                !bytes.isEmpty && bytes.count < MemoryLayout.size(ofValue: address.sun_path),
                "The path of a socket has 1 to \(MemoryLayout.size(ofValue: address.sun_path) - 1) bytes.")
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            return Self.with(&address, body)
        }
    }

    private var otherMachine: PenstockError {
        PenstockError(.invalidInput, "\(self) is no address of this machine alone; write 127.0.0.1:PORT or [::1]:PORT.")
    }

    private static func with<Address, Result>(
        _ address: inout Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }
}
