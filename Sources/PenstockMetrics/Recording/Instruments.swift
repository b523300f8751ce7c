import CoreMetrics
import Synchronization

/// What one series is recorded with.
protocol Instrument: AnyObject, Sendable {
    /// Whether there is a value to show.
    var hasValue: Bool { get }

    /// Adds what was recorded to the family that was begun.
    func write(to text: inout PrometheusText, _ labels: Labels)
}

/// Counts whole things.
final class CounterInstrument: CounterHandler, Instrument {
    private let count = Atomic<Int64>(0)
    let hasValue = true

    func increment(by amount: Int64) { count.wrappingAdd(amount, ordering: .relaxed) }

    func reset() { count.store(0, ordering: .relaxed) }

    func write(to text: inout PrometheusText, _ labels: Labels) {
        text.sample(labels, Int(count.load(ordering: .relaxed)))
    }
}

/// Holds a number: a gauge, or a counter of parts.
final class NumberInstrument: MeterHandler, RecorderHandler, FloatingPointCounterHandler, Instrument {
    private let number: Mutex<Double?>

    /// - Parameter number: what it begins with; `nil`: nothing is known before the first value, and nothing is not known to be none.
    init(from number: Double?) { self.number = Mutex(number) }

    var hasValue: Bool { number.withLock { $0 != nil } }

    func set(_ value: Int64) { set(Double(value)) }
    func set(_ value: Double) { number.withLock { $0 = value } }
    func increment(by amount: Double) { number.withLock { $0 = ($0 ?? 0) + amount } }
    func decrement(by amount: Double) { increment(by: -amount) }
    func record(_ value: Int64) { set(Double(value)) }
    func record(_ value: Double) { set(value) }
    func reset() { set(0.0) }

    func write(to text: inout PrometheusText, _ labels: Labels) {
        if let number = number.withLock({ $0 }) { text.sample(labels, number) }
    }
}

/// Counts values by size.
final class HistogramInstrument: TimerHandler, RecorderHandler, Instrument {
    let hasValue = true
    private let buckets: Buckets
    private let state: Mutex<(counts: [Int], sum: Double)>

    init(_ buckets: Buckets) {
        self.buckets = buckets
        state = Mutex((counts: Array(repeating: 0, count: buckets.bounds.count + 1), sum: 0))
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1_000_000_000) }
    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        // What is no number can be counted nowhere.
        if value.isNaN { return }
        let index = buckets.index(of: value)
        state.withLock { state in
            state.counts[index] += 1
            state.sum += value
        }
    }

    func write(to text: inout PrometheusText, _ labels: Labels) {
        let (counts, sum) = state.withLock { $0 }
        text.histogram(labels, buckets, counts, sum: sum)
    }
}
