public import PenstockCore

/// How a schedule's messages are, and when they come.
public struct ScheduleOptions: Hashable, Sendable {
    /// What goes with each message. It has no due time of its own. With a unique key nothing is enqueued while the last message
    /// waits or runs.
    public var message: EnqueueOptions
    /// What becomes of firings that were missed because nothing ran.
    public var missed: MissedFirings
    /// How old a firing may be that ``/PenstockCore/MissedFirings/all`` makes good.
    public var window: Duration
    /// Each message is put off by a random part of this.
    public var jitter: Duration
    /// Nothing fires before this moment.
    public var starts: Timestamp?
    /// Nothing fires after this moment.
    public var ends: Timestamp?

    /// Makes options: of what was missed one firing is made good, and nothing is put off.
    public init(
        message: EnqueueOptions = EnqueueOptions(), missed: MissedFirings = .one, window: Duration = .seconds(86_400),
        jitter: Duration = .zero, starts: Timestamp? = nil, ends: Timestamp? = nil
    ) {
        self.message = message
        self.missed = missed
        self.window = window
        self.jitter = jitter
        self.starts = starts
        self.ends = ends
    }
}

extension Queue {
    /// Has an element enqueued again and again, as `spec` says in the clocks of `zone`.
    ///
    /// Called again with the same it changes nothing, so a program can say at each start what it wants; with something else
    /// the schedule of that name becomes that, and fires from now on. Each firing happens once, whichever of all the
    /// processes on the file carries it out: a worker of the queue, or one of any other queue.
    ///
    /// ```swift
    /// try await reports.schedule("nightly", "0 3 * * *", zone: "Europe/Paris", Report(of: "sales"))
    /// ```
    ///
    /// - Parameters:
    ///   - name: the schedule's name, which no other schedule of the store has.
    ///   - spec: when it fires: five or six fields in the way of cron, or a short form such as `@daily` or `@every 90s`.
    ///   - zone: the zone of the spec's times, by its name in the IANA time zone database.
    ///   - element: what each message carries, as the queue's codec writes it.
    ///   - options: what goes with the messages, and what becomes of missed firings.
    /// - Throws: what the codec throws; `PenstockError` with code `invalidInput` for a spec or a zone that cannot be, and what
    ///   the store throws.
    @discardableResult
    public func schedule(
        _ name: String, _ spec: String, zone: String = "UTC", _ element: Element,
        options: ScheduleOptions = ScheduleOptions()
    ) async throws -> ScheduleRecord {
        let schedule = Schedule(
            queue: self.name, spec: spec, zone: zone, message: try message(element, options.message),
            missed: options.missed, window: options.window, jitter: options.jitter, starts: options.starts,
            ends: options.ends)
        let name = try ScheduleName(name)
        guard let record = try await storage.schedule(name, .put(schedule, replacing: true)) else {
            throw PenstockError(.unknownSchedule, "The schedule '\(name)' was removed as it was made.")
        }
        return record
    }
}

extension PenstockStore {
    /// The schedules by name, without their firings.
    public func schedules() async throws -> [ScheduleRecord] {
        try await storage.schedules(nil)
    }

    /// A page of schedules by name, without their firings.
    ///
    /// - Throws: `PenstockError` with code `invalidInput`.
    public func schedules(page query: ScheduleQuery) async throws -> [ScheduleRecord] {
        try await storage.schedules(page: query)
    }

    /// A schedule with its last firings.
    ///
    /// - Throws: `PenstockError` with code `unknownSchedule`.
    public func schedule(_ name: String) async throws -> ScheduleRecord {
        let name = try ScheduleName(name)
        guard let record = try await storage.schedules(name).first else { throw PenstockError.unknown(name) }
        return record
    }

    /// Keeps a schedule from firing until it is resumed.
    ///
    /// - Throws: `PenstockError` with code `unknownSchedule`.
    public func pauseSchedule(_ name: String) async throws {
        try await storage.schedule(try ScheduleName(name), .pause)
    }

    /// Has a paused schedule fire again, from now on. What would have fired meanwhile is not missed.
    ///
    /// - Throws: `PenstockError` with code `unknownSchedule`.
    public func resumeSchedule(_ name: String) async throws {
        try await storage.schedule(try ScheduleName(name), .resume)
    }

    /// Enqueues a schedule's message now, whatever its spec says. Its next firing stays what it was.
    ///
    /// - Throws: `PenstockError` with code `unknownSchedule`, or `queueFull`.
    /// - Returns: the schedule, of whose firings this is the first.
    @discardableResult
    public func runSchedule(_ name: String) async throws -> ScheduleRecord {
        let name = try ScheduleName(name)
        guard let record = try await storage.schedule(name, .run) else {
            throw PenstockError.unknown(name)
        }
        return record
    }

    /// Removes a schedule. Its messages stay.
    ///
    /// - Throws: `PenstockError` with code `unknownSchedule`.
    public func removeSchedule(_ name: String) async throws {
        try await storage.schedule(try ScheduleName(name), .remove)
    }
}
