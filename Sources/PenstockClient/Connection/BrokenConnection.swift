import PenstockCore

/// What is known of a request that has no answer.
enum BrokenConnection: Equatable {
    /// The server never got it.
    case nothingDone
    /// It may have been carried out.
    case perhapsDone

    /// The error that a caller of the store gets.
    func error(at url: ServerURL, _ cause: any Error) -> PenstockError {
        switch self {
        case .nothingDone:
            ConnectFailure(cause).error(at: url, cause)
        case .perhapsDone:
            PenstockError(
                .outcomeUnknown,
                "The connection to the server at \(url) ended before its answer came: nobody knows whether the call took effect.",
                cause: cause)
        }
    }
}
