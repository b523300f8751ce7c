internal import Logging
internal import PenstockCore

extension MessageState {
    /// What a log says of a message whose attempt failed, going by where it is now.
    var whyNotDone: Logger.Message {
        switch self {
        case .dead: "message is a dead letter"
        case .cancelled: "attempt failed; message cancelled, as was asked for"
        default: "attempt failed; message comes back"
        }
    }
}
