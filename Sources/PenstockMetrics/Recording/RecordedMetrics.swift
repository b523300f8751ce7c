public import CoreMetrics
import Synchronization

/// A factory of swift-metrics that keeps what is recorded in memory, for Prometheus to fetch.
///
/// Give it to a store, or bootstrap it for the whole program, and serve its text with ``MetricsService`` or a server of your own:
///
/// ```swift
/// let metrics = RecordedMetrics()
/// let store = try await PenstockStore.open(path: "shop.db", options: .init(metrics: metrics))
/// let service = try MetricsService(metrics, at: "127.0.0.1:9464")
/// ```
///
/// Names are made as Prometheus has them: dots become underscores, a counter ends in `_total`, a timer is a histogram of seconds and
/// ends in `_seconds`. Dimensions whose names would be the same so get underscores at their ends. A series is there from when its counter, meter or timer was made, and a gauge's
/// from its first value on: what was never looked at is not 0. Recording takes no longer than a lock that nobody else wants.
public final class RecordedMetrics: MetricsFactory, Sendable {
    private let families = Mutex<[String: Family]>([:])
    private let timerBuckets: Buckets

    /// Keeps nothing yet.
    public convenience init() {
        self.init(timerBuckets: .ofMessages)
    }

    package init(timerBuckets: Buckets) { self.timerBuckets = timerBuckets }

    /// Everything that was recorded, as the text format 0.0.4 of Prometheus, whose content type is
    /// `text/plain; version=0.0.4; charset=utf-8`.
    public var prometheusText: String {
        var text = PrometheusText()
        write(to: &text)
        return text.text
    }

    package func write(to text: inout PrometheusText) {
        let families = families.withLock { $0.sorted { $0.key < $1.key } }
        for (name, family) in families {
            let shown = family.series.values.filter { $0.instrument.hasValue }
            if shown.isEmpty { continue }
            text.begin(name, family.kind, MetricHelp.text(of: family.label))
            for series in shown.sorted(by: { $0.order < $1.order }) {
                series.instrument.write(to: &text, series.labels)
            }
        }
    }

    /// Makes a counter, or returns the one that there is.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        instrument(label, dimensions, .counter, suffix: "_total") { CounterInstrument() }
    }

    /// Makes a counter of parts, or returns the one that there is.
    public func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        instrument(label, dimensions, .counter, suffix: "_total") { NumberInstrument(from: 0) }
    }

    /// Makes a gauge that can be moved, or returns the one that there is.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        instrument(label, dimensions, .gauge) { NumberInstrument(from: 0) }
    }

    /// Makes a histogram, or for what is not to be aggregated a gauge, or returns the one that there is.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        guard aggregate else { return instrument(label, dimensions, .gauge) { NumberInstrument(from: nil) } }
        return instrument(label, dimensions, .histogram) { HistogramInstrument(.ofAnything) }
    }

    /// Makes a histogram of seconds, or returns the one that there is.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        instrument(label, dimensions, .histogram, suffix: "_seconds") { [timerBuckets] in
            HistogramInstrument(timerBuckets)
        }
    }

    /// Forgets the counter.
    public func destroyCounter(_ handler: any CounterHandler) { forget(handler) }
    /// Forgets the counter.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { forget(handler) }
    /// Forgets the gauge.
    public func destroyMeter(_ handler: any MeterHandler) { forget(handler) }
    /// Forgets the histogram or gauge.
    public func destroyRecorder(_ handler: any RecorderHandler) { forget(handler) }
    /// Forgets the histogram.
    public func destroyTimer(_ handler: any TimerHandler) { forget(handler) }

    private struct Family {
        var kind: PrometheusText.Kind
        /// The name that the program has for it.
        var label: String
        var series: [Labels: Series] = [:]
    }

    private struct Series {
        var labels: Labels
        var instrument: any Instrument
        /// Series are shown in the order in which they were made.
        var order: Int
    }

    /// The instrument with these labels. One whose name has another kind already is made, and is shown nowhere: a family has one kind.
    private func instrument<Made: Instrument>(
        _ label: String, _ dimensions: [(String, String)], _ kind: PrometheusText.Kind, suffix: String = "",
        _ make: () -> Made
    ) -> Made {
        let base = MetricName.name(label)
        let name = base.hasSuffix(suffix) ? base : base + suffix
        func labels(_ dimensions: [(String, String)]) -> Labels {
            Labels(pairs: Array(zip(MetricName.labelNames(dimensions.map(\.0), of: kind), dimensions.map(\.1))))
        }
        // In whatever order they are given, it is one series, which has the order that was given first.
        let key = labels(dimensions.sorted { $0.0 < $1.0 })
        return families.withLock { families in
            var family = families[name] ?? Family(kind: kind, label: label)
            if let there = family.series[key] { return there.instrument as? Made ?? make() }
            let made = make()
            guard family.kind == kind else { return made }
            family.series[key] = Series(labels: labels(dimensions), instrument: made, order: family.series.count)
            families[name] = family
            return made
        }
    }

    private func forget(_ handler: AnyObject) {
        families.withLock { families in
            for (name, family) in families {
                guard let series = family.series.first(where: { $0.value.instrument === handler }) else { continue }
                families[name]?.series[series.key] = nil
                if families[name]?.series.isEmpty == true { families[name] = nil }
            }
        }
    }
}
