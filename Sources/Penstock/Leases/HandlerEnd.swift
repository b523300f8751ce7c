public import PenstockCore
internal import Logging

/// Thrown by a handler to say that no attempt can help: the message is a dead letter at once.
public struct Reject: Error, CustomStringConvertible {
    /// What is kept with the message.
    public var reason: String

    /// Makes a rejection.
    public init(_ reason: String) {
        self.reason = reason
    }

    /// The reason.
    public var description: String { reason }
}

/// Thrown by a handler to say when the message is to come back, instead of what the queue's policy says.
public struct RetryAfter: Error, CustomStringConvertible {
    /// How long until then.
    public var delay: Duration
    /// What is kept with the message.
    public var reason: String
    /// Whether nothing else of its group starts before then, as when a server answers `429 Too Many Requests` and names a time.
    public var holdsGroup: Bool

    /// Makes a wish to come back after `delay`.
    public init(_ delay: Duration, reason: String, holdsGroup: Bool = false) {
        self.holdsGroup = holdsGroup
        self.delay = delay
        self.reason = reason
    }

    /// The reason.
    public var description: String { reason }
}

/// Thrown by a handler that stops to wait, without holding a worker: its message goes on at a moment, or when it gets an event.
///
/// The attempt does not count, and nothing is logged as a failure. ``Delivery/sleep(_:for:)`` and ``Delivery/event(_:as:)`` throw
/// this; a handler lets it pass. The next run begins at the beginning, and steps that are on record are not taken again.
public struct Suspension: Error, CustomStringConvertible {
    /// When the message goes on.
    public var until: Timestamp
    /// The event with which it goes on before that, if there is one.
    public var event: EventName?

    /// Makes a wish to go on at `until`, or with an event of that name.
    public init(until: Timestamp, event: EventName? = nil) {
        self.until = until
        self.event = event
    }

    /// Both waits at once: it goes on with the first of what they wait for; `nil` when that is two different events, as a
    /// message waits for one.
    func joined(with other: Suspension) -> Suspension? {
        if let event, let otherEvent = other.event, event != otherEvent { return nil }
        return Suspension(until: min(until, other.until), event: event ?? other.event)
    }

    /// Says what was to be done with this error.
    public var description: String {
        "The handler waits, and its message goes on later. This error is for the worker: let it pass."
    }
}

/// How the work of a handler, or of a stream, on one message ended.
package enum HandlerEnd: Sendable {
    case finished
    case failed(any Error)
    /// Its payload is none that the handler could be given.
    case undecodable(any Error)
    /// It ran longer than it may.
    case timedOut(Duration)
    /// The worker or the stream stops, and does not wait for it.
    case givenUp
    /// It was asked to end, as the message is to be cancelled, and did.
    case cancelled
    /// The message is not this process's any more.
    case leaseLost

    /// Whether the work is to stop because of its message: that is to be cancelled, or is not this process's any more.
    package var isFromOutside: Bool {
        switch self {
        case .cancelled, .leaseLost: true
        default: false
        }
    }

    /// What went wrong; `nil` when nothing did: a handler that stops to wait has not failed.
    var failure: (any Error)? {
        if case .failed(let error) = self, !(error is Suspension) { error } else { nil }
    }

    /// What that says of the message; `nil` when there is nothing to say.
    var verdict: Verdict? {
        switch self {
        case .finished:
            return .done
        case .failed(let error):
            switch error {
            case let reject as Reject:
                return .dead(error: reject.reason)
            case let suspension as Suspension:
                return .suspend(until: suspension.until, event: suspension.event)
            case let retry as RetryAfter:
                // Held to what a store takes: a wish out of range must not cost the message its verdict.
                return .retry(
                    error: retry.reason, after: min(max(retry.delay, .zero), Limits.delayMax),
                    holdsGroup: retry.holdsGroup)
            default:
                return .retry(error: "\(error)")
            }
        case .undecodable(let error):
            return .dead(error: "\(error)", reason: .undecodable)
        case .timedOut(let timeout):
            return .retry(error: "The handler ran longer than \(timeout).", outcome: .timedOut)
        case .givenUp, .cancelled:
            // Of a message that is to be cancelled a store makes that, whatever is said but `done`.
            return .release
        case .leaseLost:
            return nil
        }
    }
}

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
