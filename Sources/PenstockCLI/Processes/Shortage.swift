import Subprocess

/// The system has not what it takes to start a process right now: descriptors, processes or memory. It may have it later,
/// and it is no fault of the message.
struct Shortage: Error {
    /// What there is too little of, in the system's words.
    let reason: String

    /// `nil` when `error` is of another kind.
    init?(_ error: any Error) {
        guard let number = error as? Errno ?? (error as? SubprocessError)?.underlyingError,
            Self.numbers.contains(number)
        else { return nil }
        reason = "\(number)"
    }

    private static let numbers: [Errno] = [
        .tooManyOpenFiles, .tooManyOpenFilesInSystem, .resourceTemporarilyUnavailable, .noMemory,
    ]
}
