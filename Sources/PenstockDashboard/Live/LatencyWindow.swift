import PenstockCore

/// How long messages of a queue have waited and been worked in the last minute: what the file's counts, which only grow, have grown
/// by since then.
struct LatencyWindow: Sendable {
    /// How far it looks back.
    static let seconds: Int64 = 60
    /// Between two counts that it keeps.
    private static let stepSeconds: Int64 = 5

    /// Counts of the last minute, and one that is older if there is one. The oldest first.
    private var counts: [(second: Int64, latency: QueueLatency)] = []

    /// Takes the counts of that second.
    ///
    /// - Returns: what came in the minute before; nothing at first.
    mutating func record(_ latency: QueueLatency, at second: Int64) -> QueueLatency {
        // A clock that was set back, or a queue that was made anew, begins it anew.
        if let last = counts.last, second < last.second || latency.since(last.latency) == nil { counts = [] }
        while counts.count > 1, counts[1].second <= second - Self.seconds { counts.removeFirst() }
        let recent = counts.first.flatMap { latency.since($0.latency) } ?? QueueLatency()
        guard counts.last.map({ second - $0.second >= Self.stepSeconds }) ?? true else { return recent }
        // While nothing is counted all of them are one in memory.
        let kept = counts.last.flatMap { $0.latency == latency ? $0.latency : nil } ?? latency
        counts.append((second, kept))
        return recent
    }
}

/// The median and the 99th of a hundred, of some time.
struct Quantiles: Equatable, Sendable {
    var median: Duration
    var high: Duration

    /// `nil` when nothing was counted.
    init?(_ histogram: LatencyHistogram) {
        guard let median = histogram.quantile(0.5), let high = histogram.quantile(0.99) else { return nil }
        self.median = median
        self.high = high
    }

    /// For people.
    var text: String { "\(Shown.latency(median)) / \(Shown.latency(high))" }
}
