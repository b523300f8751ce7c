import PenstockCore

/// What a queue's numbers were at a moment. Numbers that only grow are kept by their last 32 bits: only their differences count.
struct Sample: Equatable, Sendable {
    var waiting: UInt32
    var leased: UInt32
    var dead: UInt32
    var enqueued: UInt32
    var done: UInt32
    var failed: UInt32
    /// How long messages had waited that were claimed in the minute before, in milliseconds; not a number: none was.
    var waitMedian = Float.nan
    var waitHigh = Float.nan
    /// Since when the oldest ready message is ready, in seconds since 1970; 0: none is. A moment and no age, so that it stays as it is while
    /// that message waits. To the microsecond, as the moment of a look is: whole seconds would be an age that is not there.
    var oldest = 0.0

    init(_ depths: Depths, _ totals: Totals, recent: QueueLatency = QueueLatency(), oldest: Timestamp? = nil) {
        waiting = UInt32(clamping: depths.waiting)
        leased = UInt32(clamping: depths.leased)
        dead = UInt32(clamping: depths.dead)
        enqueued = UInt32(truncatingIfNeeded: totals.enqueued)
        done = UInt32(truncatingIfNeeded: totals.done)
        failed = UInt32(truncatingIfNeeded: totals.retried &+ totals.dead &+ totals.reclaimed)
        if let oldest { self.oldest = max(Double(oldest.microseconds) / 1_000_000, 1) }
        guard let waits = Quantiles(recent.wait) else { return }
        waitMedian = Float(waits.median / .milliseconds(1))
        waitHigh = Float(waits.high / .milliseconds(1))
    }

    /// Numbers that are not there are the same.
    static func == (left: Sample, right: Sample) -> Bool {
        left.waiting == right.waiting && left.leased == right.leased && left.dead == right.dead
            && left.enqueued == right.enqueued && left.done == right.done && left.failed == right.failed
            && left.waitMedian.bitPattern == right.waitMedian.bitPattern
            && left.waitHigh.bitPattern == right.waitHigh.bitPattern && left.oldest == right.oldest
    }

    /// The numbers of all `queues` together.
    init(allOf queues: [QueueStatus], recent: QueueLatency = QueueLatency()) {
        var (depths, totals) = (Depths(), Totals())
        var oldest: Timestamp?
        for queue in queues {
            depths.ready = depths.ready &+ queue.depths.waiting
            depths.leased = depths.leased &+ queue.depths.leased
            depths.dead = depths.dead &+ queue.depths.dead
            totals.enqueued = totals.enqueued &+ queue.totals.enqueued
            totals.done = totals.done &+ queue.totals.done
            totals.retried = totals.retried &+ queue.totals.retried &+ queue.totals.dead &+ queue.totals.reclaimed
            if let since = queue.oldestReady { oldest = min(oldest ?? since, since) }
        }
        self.init(depths, totals, recent: recent, oldest: oldest)
    }
}

/// What a queue's numbers have been: finely for a while, and coarsely for long.
struct History: Sendable {
    /// A span of time that is looked back on.
    enum Span: String, CaseIterable, Sendable {
        case minutes = "2m"
        case quarter = "15m"
        case hours = "16h"

        /// The span in words.
        var words: String {
            switch self {
            case .minutes: "2 minutes"
            case .quarter: "15 minutes"
            case .hours: "16 hours"
            }
        }
    }

    private var rings: [Span: Ring] = [
        .minutes: Ring(stepSeconds: 1, countMax: 120),
        .quarter: Ring(stepSeconds: 5, countMax: 180),
        .hours: Ring(stepSeconds: 30, countMax: 2000),
    ]

    /// Takes what was seen at that moment.
    mutating func record(_ sample: Sample, at now: Timestamp) {
        for span in Span.allCases { rings[span]?.record(sample, at: now) }
    }

    /// The ring of a span.
    subscript(span: Span) -> Ring { rings[span] ?? Ring(stepSeconds: 1, countMax: 0) }

    /// How many messages in a second, over the last ten seconds.
    func rate(_ number: KeyPath<Sample, UInt32>) -> Double {
        let rates = self[.minutes].rates(number).suffix(10).compactMap(\.self)
        return rates.isEmpty ? 0 : rates.reduce(0, +) / Double(rates.count)
    }
}
