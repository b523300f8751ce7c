import AsyncHTTPClient
import NIOCore
import NIOPosix
import PenstockCore

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What is known of a request that has no answer.
enum BrokenConnection: Equatable {
    /// The server never got it.
    case nothingDone
    /// It may have been carried out.
    case perhapsDone

    /// What the client of HTTP has thrown.
    init(_ error: any Error) {
        self =
            switch error {
            case is NIOConnectionError: .nothingDone
            // Of a socket in the file system, when it is connected to; later no call gives these.
            case let error as IOError where [ECONNREFUSED, ENOENT, EACCES].contains(error.errnoCode): .nothingDone
            case let error as HTTPClientError where Self.beforeSending.contains(error): .nothingDone
            default: .perhapsDone
            }
    }

    private static let beforeSending: [HTTPClientError] = [
        .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .alreadyShutdown, .invalidURL,
    ]

    /// The error that a caller of the store gets.
    func error(at url: ServerURL, _ cause: any Error) -> PenstockError {
        switch self {
        case .nothingDone:
            PenstockError(
                .unreachable, "The server at \(url) cannot be reached, and nothing was done; is it running there?",
                cause: cause)
        case .perhapsDone:
            PenstockError(
                .outcomeUnknown,
                "The connection to the server at \(url) ended before its answer came: nobody knows whether the call took effect.",
                cause: cause)
        }
    }
}
