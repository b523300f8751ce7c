/// How long something took, how often: counts in buckets whose bounds rise by the same factor, and the sum.
///
/// Five buckets go through two powers of ten: their bounds are 100 microseconds times 10^(2k/5) for k = 0 to 23, in whole
/// microseconds (every second number of the series R5 of ISO 3, preferred numbers), from 100 microseconds to 44 hours. One bucket
/// more has what took longer.
public struct LatencyHistogram: Hashable, Sendable {
    /// The buckets' upper bounds, in order. What took exactly as long as a bound is in its bucket.
    public static let bounds: [Duration] = boundsInMicroseconds.map { .microseconds($0) }

    /// The same in microseconds.
    package static let boundsInMicroseconds: [Int64] = [
        100, 251, 631, 1_585, 3_981, 10_000, 25_119, 63_096, 158_489, 398_107, 1_000_000, 2_511_886, 6_309_573,
        15_848_932,
        39_810_717, 100_000_000, 251_188_643, 630_957_344, 1_584_893_192, 3_981_071_706, 10_000_000_000, 25_118_864_315,
        63_095_734_448, 158_489_319_246,
    ]

    /// What each bucket has, without those behind the last that has something.
    private var filled: [Int] = []
    private var sumInMicroseconds: Int64 = 0

    /// Makes one of nothing.
    public init() {}

    /// Takes what a store holds; `nil` when it is not what ``stored`` gives.
    package init?(stored numbers: [Int64]) {
        guard let sum = numbers.first, sum >= 0, numbers.count <= Self.boundsInMicroseconds.count + 2,
            numbers.dropFirst().allSatisfy({ $0 >= 0 }), numbers.count == 1 || numbers.last != 0
        else { return nil }
        sumInMicroseconds = sum
        filled = numbers.dropFirst().map(Int.init)
    }

    /// The sum in microseconds, and then what each bucket has, without those behind the last that has something.
    package var stored: [Int64] { [sumInMicroseconds] + filled.map(Int64.init) }

    /// How many things were counted.
    public var count: Int {
        // The numbers may come from a file that anybody has written.
        filled.reduce(0) { $0.addingClamped($1) }
    }

    /// How long all of them took together.
    public var sum: Duration { .microseconds(sumInMicroseconds) }

    /// How many are in each bucket: one for each of ``bounds``, and one for what took longer.
    public var counts: [Int] {
        filled + Array(repeating: 0, count: Self.boundsInMicroseconds.count + 1 - filled.count)
    }

    /// Whether nothing was counted.
    public var isEmpty: Bool { filled.isEmpty }

    /// Counts something that took so long. Less than nothing, as where a clock was set back, counts as nothing.
    public mutating func record(_ duration: Duration) {
        record(microseconds: duration.wholeMicroseconds)
    }

    /// Counts something that took so long.
    package mutating func record(microseconds: Int64) {
        let microseconds = max(0, microseconds)
        let index = Self.bucket(of: microseconds)
        makeRoom(for: index + 1)
        filled[index] = filled[index].addingClamped(1)
        sumInMicroseconds = sumInMicroseconds.addingClamped(microseconds)
    }

    package mutating func add(_ other: LatencyHistogram) {
        makeRoom(for: other.filled.count)
        for (index, count) in other.filled.enumerated() {
            filled[index] = filled[index].addingClamped(count)
        }
        sumInMicroseconds = sumInMicroseconds.addingClamped(other.sumInMicroseconds)
    }

    /// What has come since it was `earlier`; `nil` when it does not have all that this had.
    package func since(_ earlier: LatencyHistogram) -> LatencyHistogram? {
        guard earlier.filled.count <= filled.count, sumInMicroseconds >= earlier.sumInMicroseconds else { return nil }
        var since = self
        for (index, count) in earlier.filled.enumerated() {
            guard filled[index] >= count else { return nil }
            since.filled[index] -= count
        }
        while since.filled.last == 0 { since.filled.removeLast() }
        since.sumInMicroseconds -= earlier.sumInMicroseconds
        return since
    }

    private mutating func makeRoom(for count: Int) {
        let missing = count - filled.count
        if missing > 0 { filled.append(contentsOf: repeatElement(0, count: missing)) }
    }

    /// How long the quickest took that make up `share` of all: 0.5 is the median, 0.99 what one in a hundred exceeds. `nil` when
    /// nothing was counted.
    ///
    /// It lies in the right bucket, at the place that it has if the bucket's things are spread evenly in it. So it is off by a factor
    /// of 2.52 at most, or by 100 microseconds if that is more. Of what took longer than all bounds it is the last bound.
    ///
    /// - Parameter share: from 0 to 1; what lies outside is taken for the nearer of these.
    public func quantile(_ share: Double) -> Duration? {
        guard !isEmpty else { return nil }
        let rank = min(max(share, 0), 1) * Double(count)
        var before = 0.0
        for (index, count) in filled.enumerated() where count > 0 {
            if before + Double(count) >= rank {
                let lower = index == 0 ? 0 : Self.boundsInMicroseconds[index - 1]
                guard index < Self.boundsInMicroseconds.count else { return .microseconds(lower) }
                let width = Double(Self.boundsInMicroseconds[index] - lower)
                let place = max(0, (rank - before) / Double(count))
                return .microseconds(lower + Int64((width * place).rounded()))
            }
            before += Double(count)
        }
        return Self.bounds.last
    }

    /// The first bucket whose bound is not exceeded.
    private static func bucket(of microseconds: Int64) -> Int {
        boundsInMicroseconds.withUnsafeBufferPointer { bounds in
            var low = 0
            var high = bounds.count
            while low < high {
                let middle = (low + high) / 2
                if bounds[middle] < microseconds { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }
}

/// How long messages of a queue waited and were worked, since it was made.
public struct QueueLatency: Hashable, Sendable {
    /// How long they had been ready as they were claimed, each time.
    public var wait = LatencyHistogram()
    /// How long they had been leased as their worker said what became of them. A message that is handed back was not worked:
    /// `Verdict.release` is not counted, and neither is what a store that closes gives back.
    public var work = LatencyHistogram()

    /// Makes one of nothing.
    public init() {}

    /// Whether nothing was counted.
    package var isEmpty: Bool { wait.isEmpty && work.isEmpty }

    /// Counts everything that `other` has as well.
    package mutating func add(_ other: QueueLatency) {
        wait.add(other.wait)
        work.add(other.work)
    }

    /// What has come since it was `earlier`; `nil` when it does not have all that this had.
    package func since(_ earlier: QueueLatency) -> QueueLatency? {
        guard let wait = wait.since(earlier.wait), let work = work.since(earlier.work) else { return nil }
        var since = QueueLatency()
        (since.wait, since.work) = (wait, work)
        return since
    }
}
