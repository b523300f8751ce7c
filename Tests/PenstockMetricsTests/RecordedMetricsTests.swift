import CoreMetrics
import PenstockMetrics
import Testing

@Suite struct RecordedMetricsTests {
    private let metrics = RecordedMetrics()

    private var lines: [Substring] { metrics.prometheusText.split(separator: "\n") }

    @Test func countersGaugesAndTimersHaveTheirNames() {
        Counter(label: "penstock.done", dimensions: [("queue", "a b")], factory: metrics).increment(by: 2)
        let running = Meter(label: "penstock.running", dimensions: [("queue", "q")], factory: metrics)
        running.increment(by: 3)
        running.decrement(by: 1)
        Gauge(label: "depth-now", factory: metrics).record(7)
        CoreMetrics.Timer(label: "penstock.work", factory: metrics).recordMilliseconds(30)
        #expect(lines.contains(#"penstock_done_total{queue="a b"} 2"#))
        #expect(lines.contains("# HELP penstock_done_total Messages that this process finished."))
        #expect(lines.contains(#"penstock_running{queue="q"} 2"#))
        #expect(lines.contains("depth_now 7"))
        #expect(lines.contains("# HELP depth_now What the program records as depth-now."))
        #expect(lines.contains(#"penstock_work_seconds_bucket{le="0.025119"} 0"#))
        #expect(lines.contains(#"penstock_work_seconds_bucket{le="0.063096"} 1"#))
        #expect(lines.contains("penstock_work_seconds_sum 0.03"))
        #expect(lines.contains("penstock_work_seconds_count 1"))
    }

    /// Prometheus takes labels in any order for one series, and one of two values for an error.
    @Test func dimensionsInAnotherOrderAreTheSameSeries() {
        Counter(label: "c", dimensions: [("b", "2"), ("a", "1")], factory: metrics).increment()
        Counter(label: "c", dimensions: [("a", "1"), ("b", "2")], factory: metrics).increment()
        #expect(lines.filter { $0.hasPrefix("c_total") } == [#"c_total{b="2",a="1"} 2"#])
    }

    @Test func theSameNameIsTheSameSeriesAndIsThereFromZeroOn() {
        let counter = Counter(label: "c", factory: metrics)
        #expect(lines.contains("c_total 0"))
        counter.increment()
        Counter(label: "c", factory: metrics).increment()
        #expect(lines.contains("c_total 2"))
        counter.reset()
        #expect(lines.contains("c_total 0"))
        counter.destroy()
        #expect(lines.isEmpty)
    }

    /// A worker that never asked how many messages there are would say that there are none, and no alert would ever come.
    @Test func aGaugeIsThereFromItsFirstValueOn() {
        let gauge = Gauge(label: "penstock.ready_age", dimensions: [("queue", "q")], factory: metrics)
        Gauge(label: "penstock.ready_age", dimensions: [("queue", "other")], factory: metrics).record(2)
        Gauge(label: "penstock.depth", factory: metrics).destroy()
        _ = Gauge(label: "never", factory: metrics)
        #expect(lines.count == 3)
        #expect(lines.last == #"penstock_ready_age{queue="other"} 2"#)
        gauge.record(0)
        #expect(lines.contains(#"penstock_ready_age{queue="q"} 0"#))
        Meter(label: "penstock.running", factory: metrics).increment(by: 0)
        #expect(lines.contains("penstock_running 0"))
    }

    /// Else the family would have two kinds, and Prometheus refuse the whole answer.
    @Test func aFamilyHasOneKind() {
        Gauge(label: "x", factory: metrics).record(1)
        Recorder(label: "x", dimensions: [("a", "b")], aggregate: true, factory: metrics).record(5)
        #expect(lines == ["# HELP x What the program records as x.", "# TYPE x gauge", "x 1"])
    }

    /// A program counts whole things in one place and parts in another, and what was there first goes on.
    @Test func anInstrumentOfAnotherKindTakesNobodysPlace() {
        let whole = Counter(label: "c", factory: metrics)
        whole.increment(by: 2)
        FloatingPointCounter(label: "c", factory: metrics).increment(by: 0.5)
        whole.increment()
        #expect(lines.filter { $0.hasPrefix("c_total") } == ["c_total 3"])
    }

    /// One would make the sum none for ever.
    @Test func whatIsNoNumberIsNotCounted() {
        let recorder = Recorder(label: "size", aggregate: true, factory: metrics)
        recorder.record(Double.nan)
        recorder.record(3.0)
        #expect(lines.contains("size_sum 3"))
        #expect(lines.contains("size_count 1"))
    }

    /// Apple's swift-system-metrics records what the system says by the same names.
    @Test func whatTheProgramRecordsOfItsProcessIsThereOnce() {
        Gauge(label: "process_cpu_seconds_total", factory: metrics).record(3)
        let lines = metrics.textOfProcess.text.split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("process_cpu_seconds_total ") } == ["process_cpu_seconds_total 3"])
        #expect(lines.count { $0.hasPrefix("# TYPE process_cpu_seconds_total ") } == 1)
        #expect(lines.contains { $0.hasPrefix("process_open_fds ") })
    }

    @Test func namesAreMadeOfWhatPrometheusTakes() {
        Counter(label: "1 ä/b", dimensions: [("na-me:", "ü\n")], factory: metrics).increment()
        FloatingPointCounter(label: "parts_total", factory: metrics).increment(by: 0.5)
        #expect(lines.contains(#"_1___b_total{na_me_="ü\n"} 1"#))
        #expect(lines.contains("parts_total 0.5"))
    }

    /// A label that is there twice costs the whole scrape.
    @Test func dimensionsThatBecomeOneNameStayApart() {
        let dimensions = [("a.b", "1"), ("a-b", "2"), ("a_b", "3"), ("__name__", "4"), ("le", "5")]
        Counter(label: "c", dimensions: dimensions, factory: metrics).increment()
        CoreMetrics.Timer(label: "t", dimensions: [("le", "5")], factory: metrics).recordSeconds(1)
        #expect(lines.contains(#"c_total{a_b="1",a_b_="2",a_b__="3",__name___="4",le="5"} 1"#))
        #expect(lines.contains(#"t_seconds_bucket{le_="5",le="+Inf"} 1"#))
    }

    @Test func manyRecordAtOnce() async {
        let counter = Counter(label: "c", factory: metrics)
        let timer = CoreMetrics.Timer(label: "t", factory: metrics)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<1000 {
                        counter.increment()
                        timer.recordSeconds(1)
                    }
                }
            }
        }
        #expect(lines.contains("c_total 8000"))
        #expect(lines.contains("t_seconds_count 8000"))
        #expect(lines.contains("t_seconds_sum 8000"))
    }
}
