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

    init(_ depths: Depths, _ totals: Totals, recent: QueueLatency = QueueLatency()) {
        waiting = UInt32(clamping: depths.waiting)
        leased = UInt32(clamping: depths.leased)
        dead = UInt32(clamping: depths.dead)
        enqueued = UInt32(truncatingIfNeeded: totals.enqueued)
        done = UInt32(truncatingIfNeeded: totals.done)
        failed = UInt32(truncatingIfNeeded: totals.retried &+ totals.dead &+ totals.reclaimed)
        guard let waits = Quantiles(recent.wait) else { return }
        waitMedian = Float(waits.median / .milliseconds(1))
        waitHigh = Float(waits.high / .milliseconds(1))
    }

    /// The numbers of all `queues` together.
    init(allOf queues: [QueueStatus], recent: QueueLatency = QueueLatency()) {
        var (depths, totals) = (Depths(), Totals())
        for queue in queues {
            depths.ready = depths.ready &+ queue.depths.waiting
            depths.leased = depths.leased &+ queue.depths.leased
            depths.dead = depths.dead &+ queue.depths.dead
            totals.enqueued = totals.enqueued &+ queue.totals.enqueued
            totals.done = totals.done &+ queue.totals.done
            totals.retried = totals.retried &+ queue.totals.retried &+ queue.totals.dead &+ queue.totals.reclaimed
        }
        self.init(depths, totals, recent: recent)
    }
}

/// The last samples, one for each step of time: what is older than the ring is long goes.
struct Ring: Sendable {
    let stepSeconds: Int64
    let countMax: Int
    /// What was seen, and when, in seconds: a step that has only begun is shorter than the others.
    private typealias Look = (sample: Sample, time: Double)

    /// The oldest first; `nil`: nobody looked in that step.
    private var looks: [Look?] = []
    private var lastStep: Int64 = .min

    init(stepSeconds: Int64, countMax: Int) {
        self.stepSeconds = stepSeconds
        self.countMax = countMax
    }

    /// Takes what was seen at that moment. Of several in one step the last one stays.
    mutating func record(_ sample: Sample, at now: Timestamp) {
        let step = now.microseconds / (stepSeconds * 1_000_000)
        let look = (sample, Double(now.microseconds) / 1_000_000)
        if step == lastStep, !looks.isEmpty {
            looks[looks.count - 1] = look
            return
        }
        // After a clock was set back, or so far ahead that nothing of the ring is left, it begins anew.
        if step < lastStep || looks.isEmpty || step - lastStep >= Int64(countMax) {
            looks = []
        } else {
            looks += [Look?](repeating: nil, count: Int(step - lastStep) - 1)
        }
        looks.append(look)
        if looks.count > countMax { looks.removeFirst(looks.count - countMax) }
        lastStep = step
    }

    /// How many messages in a second a number has grown by, from step to step.
    func rates(_ number: KeyPath<Sample, UInt32>) -> [Double?] {
        looks.indices.map { index in
            guard index > 0, let now = looks[index], let before = looks[index - 1] else { return nil }
            // A queue that was removed and made again begins at zero, and has not done four thousand million at once.
            let grown = now.sample[keyPath: number] &- before.sample[keyPath: number]
            let seconds = now.time - before.time
            // A step that has only begun says little.
            if index == looks.count - 1, seconds < Double(stepSeconds) / 2 { return nil }
            return grown > UInt32.max / 2 || seconds <= 0 ? nil : Double(grown) / seconds
        }
    }

    /// A number, from step to step.
    func values(_ number: KeyPath<Sample, UInt32>) -> [Double?] {
        looks.map { $0.map { Double($0.sample[keyPath: number]) } }
    }

    /// A number that is not always there, from step to step.
    func values(_ number: KeyPath<Sample, Float>) -> [Double?] {
        looks.map { look in
            guard let value = look?.sample[keyPath: number], !value.isNaN else { return nil }
            return Double(value)
        }
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
