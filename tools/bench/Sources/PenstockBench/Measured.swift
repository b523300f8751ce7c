internal import Foundation
internal import Histogram
internal import Shared

/// What one run measured, as a line of JSON.
struct Measured {
    var messages: Int
    var seconds: Double
    /// Processor time of this process.
    var cpuSeconds: Double
    var latencies: [String: Latencies] = [:]
    var numbers: [String: Double] = [:]

    /// Runs `body`, which does something with `messages` messages, and measures it.
    static func run(_ messages: Int, _ body: () async throws -> Void) async rethrows -> Measured {
        let cpu = bench_cpu()
        let began = bench_now()
        try await body()
        return Measured(
            messages: messages, seconds: Double(bench_now() - began) / 1e9, cpuSeconds: Double(bench_cpu() - cpu) / 1e9)
    }

    func print() {
        var fields = [
            "\"messages\": \(messages)", "\"seconds\": \(seconds)", "\"cpu\": \(cpuSeconds)",
        ]
        fields += latencies.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value.json)" }
        fields += numbers.sorted { $0.key < $1.key }.map { "\"\($0.key)\": \($0.value)" }
        Swift.print("{\(fields.joined(separator: ", "))}")
    }
}

/// How long calls took.
struct Latencies {
    private var histogram = Histogram<UInt32>(
        lowestDiscernibleValue: 1, highestTrackableValue: 600_000_000_000, numberOfSignificantValueDigits: .three)

    /// Counts one call of so many nanoseconds.
    mutating func record(_ nanoseconds: Int64) {
        histogram.record(UInt64(max(1, nanoseconds)))
    }

    mutating func add(_ values: [Int64]) {
        for value in values { record(value) }
    }

    /// The percentiles in microseconds, and the histogram: pairs of nanoseconds and how many calls took so long.
    var json: String {
        func percentile(_ percent: Double) -> Double { Double(histogram.valueAtPercentile(percent)) / 1000 }
        let buckets = histogram.recordedValues().map { "[\($0.value), \($0.count)]" }
        return """
            {"p50": \(percentile(50)), "p99": \(percentile(99)), "p999": \(percentile(99.9)), \
            "max": \(Double(histogram.max) / 1000), "histogram": [\(buckets.joined(separator: ", "))]}
            """
    }
}

/// Waits until the parent process says go, when everything is prepared.
func waitForGo() {
    print("ready")
    fflush(nil)
    _ = readLine()
}

/// Returns when the parent process says anything more, or is gone.
func waitForStop() async {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            _ = readLine()
            continuation.resume()
        }
    }
}
