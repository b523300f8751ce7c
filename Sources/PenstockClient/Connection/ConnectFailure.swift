import NIOCore
import NIOPosix
import PenstockCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Why a server cannot be reached, as far as that can be told. A sentence that says so spares people the search.
enum ConnectFailure: Equatable {
    /// Its name has no address.
    case unknownHost
    /// The system does not let this user use the socket.
    case notAllowed
    /// It shows a certificate that is not trusted here, or is another host's.
    case untrusted
    /// What is there speaks no TLS, or none that this side speaks.
    case noTLS
    /// Nobody takes connections there, or it cannot be said why.
    case nobody

    init(_ error: any Error) {
        switch error {
        case let error as NIOConnectionError where error.connectionErrors.isEmpty: self = .unknownHost
        case let error as NIOConnectionError:
            self = error.connectionErrors.contains { Self.isRefused($0.error) } ? .notAllowed : .nobody
        case let error where Self.isRefused(error): self = .notAllowed
        // The library that speaks TLS is another one on each system; its name is all that is known of it here.
        case let error where String(reflecting: type(of: error)).contains("SSL"):
            self = Self.certificateWords.contains(where: "\(error)".contains) ? .untrusted : .noTLS
        default: self = .nobody
        }
    }

    /// What its errors of certificates say, and no others.
    private static let certificateWords = ["CERTIFICATE", "Certificate", "failedToValidateHostname"]

    private static func isRefused(_ error: any Error) -> Bool {
        guard let code = (error as? IOError)?.errnoCode else { return false }
        return code == EACCES || code == EPERM
    }

    func error(at url: ServerURL, _ cause: any Error) -> PenstockError {
        let reason = "The server at \(url) cannot be reached, and nothing was done"
        switch self {
        case .unknownHost:
            return PenstockError(.unreachable, "\(reason): the name has no address; is it spelled right?", cause: cause)
        case .notAllowed:
            return PenstockError(
                .forbidden, "\(reason): this user may not use the socket, which is its owner's alone.", cause: cause)
        case .untrusted:
            return PenstockError(
                .unreachable,
                "\(reason): its certificate is not trusted here, or is for another name; have this machine trust it, and call the "
                    + "server by that name.", cause: cause)
        case .noTLS:
            return PenstockError(
                .unreachable,
                "\(reason): no TLS can be agreed on; write http:// for a server that has no proxy in front of it.",
                cause: cause)
        case .nobody:
            return PenstockError(.unreachable, "\(reason); is it running there?", cause: cause)
        }
    }
}
