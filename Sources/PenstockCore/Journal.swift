/// The name of a step of a handler, or of an event that it waits for.
public struct StepName: StoreName {
    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "step", bytesMax: Limits.stepNameBytesMax)
        self.text = text
    }

    /// Takes a name that a store holds already, and so was checked before.
    package init(stored text: String) {
        self.text = text
    }
}

/// An event's name, which no other event of its message or workflow has.
public struct EventName: StoreName {
    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "event", bytesMax: Limits.eventNameBytesMax)
        self.text = text
    }

    /// Takes a name that a store holds already, and so was checked before.
    package init(stored text: String) {
        self.text = text
    }
}

/// A step of a handler that is over, and what it gave. It is not taken again: not by the next attempt, and not after a crash.
public struct StepRecord: Hashable, Sendable {
    /// The step's name in its message.
    public var name: StepName
    /// What it gave.
    public var result: [UInt8]
    /// When that was recorded.
    public var recordedAt: Timestamp

    /// Makes a record.
    public init(name: StepName, result: [UInt8], recordedAt: Timestamp) {
        self.name = name
        self.result = result
        self.recordedAt = recordedAt
    }
}

/// What a message has left behind on its way.
public struct MessageJournal: Hashable, Sendable {
    /// The steps of its handler that are over, in the order in which they were recorded.
    public var steps: [StepRecord]
    /// The event that it waits for.
    public var awaited: EventName?
    /// What it gave when it was done.
    public var result: [UInt8]?
    /// Which task of which workflow it is.
    public var task: TaskPlace?

    /// Makes a journal.
    public init(
        steps: [StepRecord] = [], awaited: EventName? = nil, result: [UInt8]? = nil, task: TaskPlace? = nil
    ) {
        self.steps = steps
        self.awaited = awaited
        self.result = result
        self.task = task
    }
}

/// Whom an event is for.
public enum EventTarget: Hashable, Sendable {
    /// A message. Only its handler sees the event.
    case message(SequenceNumber)
    /// A workflow. The handlers of all its tasks see the event.
    case workflow(WorkflowName)
}

/// Something that happened outside, on its way to handlers that wait for it.
public struct NewEvent: Hashable, Sendable {
    /// Its name.
    public var name: EventName
    /// What it brings.
    public var payload: [UInt8]

    /// Makes an event.
    public init(_ name: EventName, payload: [UInt8] = []) {
        self.name = name
        self.payload = payload
    }

    /// Throws ``PenstockError`` with code `invalidInput` when the payload is too large.
    public func validate() throws(PenstockError) {
        try require(
            payload.count <= Limits.resultBytesMax,
            "An event brings at most \(Limits.resultBytesMax) bytes (resultBytesMax); this one has \(payload.count).")
    }
}

extension NewEvent {
    /// Throws ``PenstockError`` with code `invalidInput` when a message or workflow cannot have that many.
    package static func validate(count: Int) throws(PenstockError) {
        try require(
            count <= Limits.eventCountMax,
            "A message or workflow has at most \(Limits.eventCountMax) events (eventCountMax).")
    }
}

extension StepRecord {
    /// Throws ``PenstockError`` with code `invalidInput` when a step cannot have given so much.
    package static func validate(_ result: [UInt8]) throws(PenstockError) {
        try require(
            result.count <= Limits.resultBytesMax,
            "A step gives at most \(Limits.resultBytesMax) bytes (resultBytesMax); this one gave \(result.count).")
    }

    /// Throws ``PenstockError`` with code `invalidInput` when one message cannot have so many steps, or so much of what they gave.
    package static func validate(count: Int, bytes: Int) throws(PenstockError) {
        try require(
            count <= Limits.stepCountMax, "A message has at most \(Limits.stepCountMax) steps (stepCountMax).")
        try require(
            bytes <= Limits.journalBytesMax,
            "The steps of a message give at most \(Limits.journalBytesMax) bytes together (journalBytesMax).")
    }
}

extension EventTarget {
    /// Whom the event is for, at the beginning of a sentence.
    package var what: String {
        switch self {
        case .message(let sequence): "Message \(sequence)"
        case .workflow(let name): "The workflow '\(name)'"
        }
    }

    /// Why it takes no event.
    ///
    /// - Parameter dead: a dead letter, it or one of its tasks: once that is redriven the event is taken.
    package func refusal(dead: SequenceNumber?) -> PenstockError {
        guard let dead else {
            return PenstockError(
                .illegalTransition, "\(what) has ended, and takes no events any more; nothing was changed.")
        }
        let state = self == .message(dead) ? "is a dead letter" : "has ended with the dead letter \(dead)"
        return PenstockError(
            .illegalTransition,
            "\(what) \(state), and takes no events; redrive it first (`penstock dead redrive \(dead)`), and send the event again. "
                + "Nothing was changed.")
    }
}
