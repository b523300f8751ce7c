import PenstockHTTP

/// The charts of a queue, or of all, for a template: each with a table that says the same.
enum ChartFields {
    /// Values that a table has at most: people read no more.
    private static let rowCountMax = 20

    /// - Parameter place: the page with the charts of another span.
    static func fields(_ history: History, _ span: History.Span, _ place: (History.Span) -> String) -> Fields {
        let ring = history[span]
        let depths = LineChart(
            title: "Messages in line",
            lines: [
                line("waiting", ring, ring.values(\.waiting)),
                line("with workers", ring, ring.values(\.leased)),
                line("dead letters", ring, ring.values(\.dead)),
            ], span: span.words)
        let rates = LineChart(
            title: "Messages a second",
            lines: [
                line("in", ring, ring.rates(\.enqueued)),
                line("done", ring, ring.rates(\.done)),
                line("failed attempts", ring, ring.rates(\.failed)),
            ], span: span.words)
        let ages = LineChart(
            title: "Seconds for which the oldest has been ready",
            lines: [line("oldest ready", ring, ring.ages(\.oldest))], span: span.words)
        let waits = LineChart(
            title: "Milliseconds from ready to claimed, in the minute before",
            lines: [
                line("half of them less", ring, ring.values(\.waitMedian)),
                line("99 of 100 less", ring, ring.values(\.waitHigh)),
            ], span: span.words)
        return [
            "spans": History.Span.allCases.map {
                ["title": $0.words, "link": place($0), "isChosen": $0 == span] as Fields
            },
            "each": [depths, rates, ages, waits].map { chart($0, ring.stepSeconds * Int64(step(ring))) },
        ]
    }

    private static func line(_ name: String, _ ring: Ring, _ values: [Double?]) -> LineChart.Line {
        LineChart.Line(name: name, values: points(ring, values), now: values.suffix(2).compactMap(\.self).last)
    }

    /// Points that a line has at most: a screen shows no more.
    private static let pointCountMax = 400

    /// How many steps of a ring are one point.
    private static func step(_ ring: Ring) -> Int { (ring.countMax + pointCountMax - 1) / pointCountMax }

    /// The values of the whole span, also of the time before anybody looked; of several that are one point the highest.
    private static func points(_ ring: Ring, _ values: [Double?]) -> [Double?] {
        let all = [Double?](repeating: nil, count: max(0, ring.countMax - values.count)) + values
        let step = step(ring)
        return stride(from: 0, to: all.count, by: step).map { start in
            all[start..<min(start + step, all.count)].compactMap(\.self).max()
        }
    }

    private static func chart(_ chart: LineChart, _ stepSeconds: Int64) -> Fields {
        let count = chart.lines.first?.values.count ?? 0
        let stride = max(1, (count + rowCountMax - 1) / rowCountMax)
        let rows = Swift.stride(from: count - 1, through: 0, by: -stride).map { index -> Fields in
            let seconds = Int64(count - 1 - index) * stepSeconds
            return [
                "ago": Shown.seconds(.seconds(seconds)),
                "values": chart.lines.map { $0.values[index].map(Shown.rate) ?? "–" },
            ]
        }
        return [
            "title": chart.title, "svg": chart.svg, "rows": rows,
            "legend": chart.lines.enumerated().map { index, line -> Fields in
                ["name": line.name, "number": index + 1, "now": line.now.map(Shown.rate) ?? "–"]
            },
        ]
    }
}
