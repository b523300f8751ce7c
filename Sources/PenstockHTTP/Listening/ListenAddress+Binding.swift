import Hummingbird
import PenstockFormats
import PenstockProcesses

extension ListenAddress {
    /// The address as Hummingbird has it. It takes away whatever socket there is where it makes one, and once more when it stops: so it
    /// makes a draft, and ``SocketFile`` sees to the place itself.
    var bindAddress: BindAddress {
        switch self {
        case .unix(let path): .unixDomainSocket(path: SocketFile.draft(of: path))
        case .port(let host, let port): .hostname(host, port: port)
        }
    }
}
