import PenstockCore

/// The bounds by which a histogram counts.
package struct Buckets: Sendable {
    /// Each bucket's largest value, rising. Beyond the last one lies a bucket without an end.
    package let bounds: [Double]
    /// Each bucket's `le`, and that of the one without an end.
    let labels: [[UInt8]]

    package init(_ bounds: [Double]) {
        self.bounds = bounds
        labels = (bounds.map(PrometheusText.text) + ["+Inf"]).map { Labels(["le": $0]).bytes }
    }

    func index(of value: Double) -> Int { bounds.firstIndex { value <= $0 } ?? bounds.count }

    /// Those by which the store itself counts how long messages wait and are worked, in seconds.
    package static let ofMessages = Buckets(LatencyHistogram.bounds.map { $0 / .seconds(1) })
    /// For requests, which wait for a minute at most, in seconds.
    package static let ofRequests = Buckets([
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
    ])
    /// For numbers whose unit nobody has told.
    package static let ofAnything = Buckets([1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 1e7, 1e8, 1e9])
}
