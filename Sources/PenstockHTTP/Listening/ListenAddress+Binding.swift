import Hummingbird
import PenstockFormats

extension ListenAddress {
    /// The address as Hummingbird has it.
    var bindAddress: BindAddress {
        switch self {
        case .unix(let path): .unixDomainSocket(path: path)
        case .port(let host, let port): .hostname(host, port: port)
        }
    }
}
