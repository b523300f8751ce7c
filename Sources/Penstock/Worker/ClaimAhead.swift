internal import PenstockCore

/// How many messages a worker claims beyond its free places, so that handlers that take microseconds do not wait for
/// the store after each: as many as they would work in a few milliseconds, going by how long they have taken lately.
struct ClaimAhead: Sendable {
    /// How much work to claim ahead.
    let span: Duration
    /// How many handlers may run at once.
    let concurrency: Int

    /// No more than this, however fast handlers are.
    static let countMax = 256
    /// So many handlers must have ended before anything is claimed ahead.
    private static let workMin = 16
    /// What a handler takes at least, with all that is around it.
    private static let microsecondsMin = 10.0
    /// The weight of the newest handler in the average.
    private static let weight = 1.0 / 8

    private var microseconds = 0.0
    private var workCount = 0

    init(span: Duration, concurrency: Int) {
        self.span = span
        self.concurrency = concurrency
    }

    /// A handler has taken so long.
    mutating func record(_ work: Duration) {
        let new = work / .microseconds(1)
        microseconds = workCount == 0 ? new : microseconds + (new - microseconds) * Self.weight
        workCount += 1
    }

    /// Handlers have become slow: nothing is claimed ahead before some have ended.
    mutating func forget() {
        workCount = 0
    }

    /// How many messages to claim ahead now.
    var count: Int {
        guard workCount >= Self.workMin else { return 0 }
        let handlers = span / .microseconds(1) / Swift.max(microseconds, Self.microsecondsMin)
        return Int(min(handlers * Double(concurrency), Double(Self.countMax)))
    }

    /// How long a message may wait in the worker before it is given back, so that another worker has it.
    var patience: Duration { span * 10 }
}
