import Foundation

/// What people see of a process.
package enum ProcessName {
    /// The host and the number of this process, such as `mill:4711`.
    ///
    /// Read from the kernel: what Foundation calls the host's name can be a question to a name server.
    package static var hostAndProcess: String {
        var bytes = [CChar](repeating: 0, count: 256)
        let isKnown = gethostname(&bytes, bytes.count - 1) == 0
        let host =
            isKnown
            ? String(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self) : "localhost"
        return "\(host):\(getpid())"
    }
}
