import NIOCore
import PenstockCore
import PenstockFormats
import PenstockProcesses

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension ListenAddress {
    /// Why a server cannot listen there, and what to do; `nil` when the error says something else.
    func failure(_ error: any Error) -> PenstockError? {
        let what = "This server cannot listen at \(self)"
        switch error {
        case let error as PenstockError: return error
        case let error as IOError:
            switch (self, error.errnoCode) {
            case (_, EADDRINUSE):
                return PenstockError(
                    .storage, "\(what), as another program does; stop it, or give another address with --listen.",
                    cause: error)
            case (.port(let host, _), EADDRNOTAVAIL):
                return PenstockError(
                    .invalidInput, "\(what): \(host) is no address of this machine; 0.0.0.0 is all that it has.",
                    cause: error)
            case (.port, EACCES), (.port, EPERM):
                return PenstockError(
                    .readOnly, "\(what), as the system keeps that port for others; take one from 1024 on.",
                    cause: error)
            default: return SystemErrors.failure(what, error.errnoCode)
            }
        default: return nil
        }
    }
}
