import Dispatch
import PenstockCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Whoever has started this process and waits until it can do its work: systemd, for a unit of `Type=notify` (sd_notify(3)).
enum Supervisor {
    /// Tells that requests are taken. Where nobody waits for it, nothing happens. One that reads nothing for now hears of it later,
    /// and the server works all the same.
    static func tellReady(at path: String? = getenv("NOTIFY_SOCKET").map { String(cString: $0) }) {
        guard let path else { return }
        DispatchQueue(label: "penstock.supervisor").async { tell("READY=1", at: path) }
    }

    /// Blocks while the supervisor has as many datagrams to read as it may have.
    ///
    /// - Returns: whether `state` was sent, as one datagram. What cannot be sent is let go: the supervisor's time runs out then, and it says so.
    @discardableResult static func tell(_ state: String, at path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(path.utf8)
        guard let first = bytes.first, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        // An at sign stands for the zero byte of a name that is no file's.
        if first == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + bytes.count } ?? 0
        let descriptor = socket(AF_UNIX, datagram, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let count = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                Array(state.utf8).withUnsafeBytes { bytes in
                    SystemCall.uninterrupted {
                        sendto(descriptor, bytes.baseAddress, bytes.count, 0, pointer, socklen_t(length))
                    }
                }
            }
        }
        return count == state.utf8.count
    }

    #if canImport(Glibc)
        private static let datagram = Int32(SOCK_DGRAM.rawValue)
    #else
        private static let datagram = SOCK_DGRAM
    #endif
}
