import Penstock

/// An error of the command line: one sentence that says what is wrong and what to do, and the exit status for it.
struct Failure: Error, CustomStringConvertible {
    var status: ShellStatus
    var message: String

    init(_ status: ShellStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// What `error` is to the shell; `nil` when it is none of Penstock's.
    init?(known error: any Error) {
        switch error {
        case let failure as Failure:
            self = failure
        case let error as PenstockError:
            self.init(Self.status(of: error.code), error.message)
        case is CancellationError:
            self.init(.temporary, "Stopped before it was finished; run it again.")
        default:
            return nil
        }
    }

    var description: String { message }

    private static func status(of code: PenstockError.Code) -> ShellStatus {
        switch code {
        case .invalidInput, .illegalTransition: .usage
        case .notADatabase, .corrupt, .undecodable: .data
        case .notFound, .unknownQueue, .unknownMessage, .unknownCursor, .unknownSchedule, .unknownLimit,
            .unknownWorkflow,
            .unknownTask:
            .missing
        case .messageDead: .finding
        case .messageCancelled, .messageDropped: .withdrawn
        case .queueFull, .queueDeleting, .storeMoved, .unreachable: .unavailable
        case .queueExists, .scheduleExists, .fileExists: .cannotCreate
        case .diskFull, .storage, .fileReplaced: .inputOutput
        case .timedOut, .busy, .leaseLost, .policyChanged, .selectionChanged: .temporary
        case .outcomeUnknown: .outcomeUnknown
        case .readOnly, .forbidden: .permission
        case .newerSchema, .olderSchema, .wrongRelease: .configuration
        default: .software
        }
    }
}
