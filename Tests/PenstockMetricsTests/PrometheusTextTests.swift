import Testing

@testable import PenstockMetrics

@Suite struct PrometheusTextTests {
    @Test func labelsAndHelpAreEscaped() {
        var text = PrometheusText()
        text.begin("a_total", .counter, "One\\two\nthree \"four\".")
        text.sample(Labels(["queue": "a\"b\\c\nd"]), 3)
        #expect(
            text.text == """
                # HELP a_total One\\\\two\\nthree "four".
                # TYPE a_total counter
                a_total{queue="a\\"b\\\\c\\nd"} 3

                """)
    }

    @Test(arguments: [
        (0, "0"), (-2, "-2"), (0.25, "0.25"), (1_764_000_000.5, "1764000000.5"), (.infinity, "+Inf"),
        (-.infinity, "-Inf"), (.nan, "NaN"), (1e300, "1e+300"),
    ])
    func numbers(value: Double, text: String) {
        #expect(PrometheusText.text(value) == text)
    }

    @Test func aHistogramAddsUpAndEndsWithAll() {
        var text = PrometheusText()
        text.begin("h_seconds", .histogram, "H.")
        text.histogram(Labels(["q": "x"]), Buckets([0.5, 1]), [2, 0, 5], sum: 12.5)
        #expect(
            text.text.split(separator: "\n").dropFirst(2) == [
                #"h_seconds_bucket{q="x",le="0.5"} 2"#, #"h_seconds_bucket{q="x",le="1"} 2"#,
                #"h_seconds_bucket{q="x",le="+Inf"} 7"#, #"h_seconds_sum{q="x"} 12.5"#, #"h_seconds_count{q="x"} 7"#,
            ])
    }

    /// As where a program records by itself what the system says of a process.
    @Test func aNameIsThereOnce() {
        var text = PrometheusText()
        text.begin("process_open_fds", .gauge, "The program's.")
        text.sample(7)
        text.begin("x_seconds_sum", .gauge, "The program's.")
        text.sample(8)
        let before = text.text
        text.begin("process_open_fds", .gauge, "The system's.")
        text.sample(Labels(), 9.0)
        text.sample(9)
        text.begin("x_seconds", .histogram, "The system's.")
        text.histogram(Labels(), Buckets([1]), [1, 1], sum: 2)
        #expect(text.text == before)
        text.begin("y", .gauge, "Another.")
        text.sample(1)
        #expect(text.text == before + "# HELP y Another.\n# TYPE y gauge\ny 1\n")
    }

    /// A value that is as large as a bound is within it.
    @Test func bucketsRiseAndHoldTheirBounds() {
        for buckets in [Buckets.ofMessages, .ofRequests, .ofAnything] {
            #expect(zip(buckets.bounds, buckets.bounds.dropFirst()).allSatisfy { $0 < $1 })
            for (index, bound) in buckets.bounds.enumerated() { #expect(buckets.index(of: bound) == index) }
            #expect(buckets.index(of: .infinity) == buckets.bounds.count)
        }
    }
}
