/// A schedule's name, which no other schedule of the store has.
public struct ScheduleName: StoreName {
    /// The name as text.
    public let text: String

    /// Makes a name out of `text`.
    ///
    /// - Throws: ``PenstockError`` with code `invalidInput` when `text` is no name.
    public init(_ text: String) throws(PenstockError) {
        try NameRules.validate(text, of: "schedule", bytesMax: Limits.scheduleNameBytesMax)
        self.text = text
    }

    /// Takes a name that a store holds already, and so was checked before.
    package init(stored text: String) {
        self.text = text
    }
}

/// What becomes of firings that nobody carried out in time, because nothing ran: those more than a minute late.
public enum MissedFirings: String, Sendable, Codable, CaseIterable {
    /// They are left out.
    case skip
    /// The newest of them is made good, unless a newer one is in time.
    case one
    /// Those that are not older than ``Schedule/window`` are made good, the oldest first.
    case all
}

/// A message that is enqueued again and again, when a spec says so.
public struct Schedule: Hashable, Sendable {
    /// The queue that its messages go into.
    public var queue: QueueName
    /// When it fires: five or six fields in the way of cron, or a short form such as `@daily` or `@every 90s`.
    public var spec: String
    /// The zone of the spec's times, by its name in the IANA time zone database.
    public var zone: String
    /// What is enqueued. Its due time is left out: it is due when the schedule is. With a unique key nothing is enqueued while
    /// the last one has it: while it waits or runs, unless the key's scope says otherwise. ``KeyConflict/throttle`` and
    /// ``KeyConflict/debounce`` are not for schedules.
    public var message: NewMessage
    /// What becomes of firings that were missed.
    public var missed: MissedFirings
    /// How old a firing may be that ``MissedFirings/all`` makes good.
    public var window: Duration
    /// Each message is put off by a random part of this.
    public var jitter: Duration
    /// Nothing fires before this moment.
    public var starts: Timestamp?
    /// Nothing fires after this moment.
    public var ends: Timestamp?

    /// Makes a schedule. Missed firings are made good by one, times are UTC.
    public init(
        queue: QueueName, spec: String, zone: String = "UTC", message: NewMessage, missed: MissedFirings = .one,
        window: Duration = .seconds(86_400), jitter: Duration = .zero, starts: Timestamp? = nil, ends: Timestamp? = nil
    ) {
        self.queue = queue
        self.spec = spec
        self.zone = zone
        self.message = message
        self.missed = missed
        self.window = window
        self.jitter = jitter
        self.starts = starts
        self.ends = ends
    }

    /// Throws ``PenstockError`` with code `invalidInput` when something is out of its range. The spec and the zone are looked
    /// at by those that know what they mean.
    public func validate(now: Timestamp) throws(PenstockError) {
        try require(
            [.skip, .replace, nil].contains(message.uniqueKey?.onConflict),
            "A schedule skips a firing, or replaces its last message; throttle and debounce are for messages that have delays."
        )
        try message.validate(now: now)
        try require(message.due == .now, "The message of a schedule has no due time of its own.")
        if case .at = message.expiry {
            throw PenstockError(
                .invalidInput, "The messages of a schedule expire some time after each is due, not at one moment.")
        }
        try require(
            (.zero...Limits.delayMax).contains(window), "The window of missed firings is 0 to ten years (delayMax).")
        try require(
            (.zero...Limits.scheduleJitterMax).contains(jitter),
            "A schedule's jitter is 0 to one day (scheduleJitterMax).")
        if let starts, let ends {
            try require(starts <= ends, "A schedule cannot end before it starts.")
        }
    }
}

extension Schedule {
    /// Whether it fires at the moments of `other`, and into the same queue: what else they say is of their messages.
    package func hasTimes(of other: Schedule) -> Bool {
        queue == other.queue && spec == other.spec && zone == other.zone && starts == other.starts && ends == other.ends
    }

    /// Whether it says the same, byte for byte: Swift takes texts for equal that Unicode writes in two ways.
    package func isSame(as other: Schedule) -> Bool {
        self == other && zip(texts, other.texts).allSatisfy { $0.utf8.elementsEqual($1.utf8) }
    }

    private var texts: [String] {
        let headers = message.headers.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value] }
        return [message.group ?? "", message.uniqueKey?.key ?? ""] + headers
    }

    /// How long after each of its messages is due that one may start, in microseconds; `nil`: for ever.
    package var expiresAfter: Int64? {
        if case .after(let duration) = message.expiry { duration.wholeMicroseconds } else { nil }
    }
}

extension NewMessage {
    /// Makes the message of a schedule due at `moment`, as chance wants it. How long it may start is counted from then.
    package mutating func putOff(to moment: Timestamp, now: Timestamp) {
        due = .at(moment)
        if case .after(let duration) = expiry { expiry = .at(max(moment, now) + duration) }
    }
}

/// What to do with a schedule.
public enum ScheduleChange: Sendable {
    /// Makes it. Throws `scheduleExists` when there is one of that name, unless `replacing` is true: then that one becomes this
    /// one, and fires from now on. Where queue, spec, zone, start and end are the same, it takes the message and the rest over, and its next
    /// firing stays what it was; nothing changes where both say the same. A paused one stays paused.
    case put(Schedule, replacing: Bool)
    /// Fires no more until `resume`.
    case pause
    /// Fires again, from now on. What would have fired meanwhile is not missed.
    case resume
    /// Enqueues its message now, whatever the spec says and though it is paused. Its next firing stays what it was. Where a message has its
    /// key already, the first firing of the answer says so (`skipped`), and it is not on record.
    case run
    /// Removes it. Its messages stay.
    case remove
}

/// One firing of a schedule.
public struct FiringRecord: Hashable, Sendable {
    /// What came of it.
    public enum Outcome: String, Sendable, Codable, CaseIterable {
        /// A message was accepted.
        case enqueued
        /// Nothing, as the last message still waits or runs.
        case skipped
        /// Nothing, as the queue was full; where such a queue drops what arrives, a message that was dropped.
        case queueFull
        /// A message was accepted because somebody asked for it.
        case byHand
    }

    /// When it was due.
    public var due: Timestamp
    /// When it happened.
    public var firedAt: Timestamp
    /// What came of it.
    public var outcome: Outcome
    /// The message; `nil` when there is none.
    public var sequence: SequenceNumber?

    /// Makes a record.
    public init(due: Timestamp, firedAt: Timestamp, outcome: Outcome, sequence: SequenceNumber?) {
        self.due = due
        self.firedAt = firedAt
        self.outcome = outcome
        self.sequence = sequence
    }
}

/// A schedule as the store has it.
public struct ScheduleRecord: Sendable {
    /// Its name.
    public var name: ScheduleName
    /// What it does, and when.
    public var schedule: Schedule
    /// Whether somebody has paused it.
    public var isPaused: Bool
    /// When it fires next; `nil` when it does not, or when ``isReckoned`` is false.
    public var nextDue: Timestamp?
    /// Whether a process has reckoned when it fires next. Of a row that SQL has written none has, until one carries schedules out.
    public var isReckoned: Bool
    /// How many firings had come to something.
    public var firedCount: Int64
    /// How many firings were missed and left out.
    public var missedCount: Int64
    /// Why it does not fire: what is wrong with its spec or its zone. Until it fires again, also that a clock which was far ahead had seen
    /// to it last.
    public var problem: String?
    /// The last firings, the newest first; ``Limits/firingsKeptMax`` at most.
    public var firings: [FiringRecord]

    /// Makes a record.
    public init(
        name: ScheduleName, schedule: Schedule, isPaused: Bool = false, nextDue: Timestamp? = nil,
        isReckoned: Bool = true, firedCount: Int64 = 0, missedCount: Int64 = 0, problem: String? = nil,
        firings: [FiringRecord] = []
    ) {
        self.name = name
        self.schedule = schedule
        self.isPaused = isPaused
        self.nextDue = nextDue
        self.isReckoned = isReckoned
        self.firedCount = firedCount
        self.missedCount = missedCount
        self.problem = problem
        self.firings = firings
    }
}

/// Which schedules to read.
public struct ScheduleQuery: Sendable {
    /// Only those whose name comes after this one, in the order of bytes: the cursor to page with.
    public var after: ScheduleName?
    /// How many at most, up to ``Limits/rowsMax``. A page is also shorter when its payloads have more than ``Limits/logPageBytesMax``
    /// bytes, but has at least one schedule if there is one: the page behind the last one is empty.
    public var limit: Int

    /// Makes a query for one page.
    public init(after: ScheduleName? = nil, limit: Int = 100) {
        self.after = after
        self.limit = limit
    }

    /// Throws ``PenstockError`` with code `invalidInput` when the limit is out of its range.
    public func validate() throws(PenstockError) {
        try Limits.validate(limit, "schedules")
    }
}
