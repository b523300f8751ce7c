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
                .init(name: "waiting", values: points(ring, ring.values(\.waiting))),
                .init(name: "with workers", values: points(ring, ring.values(\.leased))),
                .init(name: "dead letters", values: points(ring, ring.values(\.dead))),
            ], span: span.words)
        let rates = LineChart(
            title: "Messages a second",
            lines: [
                .init(name: "in", values: points(ring, ring.rates(\.enqueued))),
                .init(name: "done", values: points(ring, ring.rates(\.done))),
                .init(name: "failed attempts", values: points(ring, ring.rates(\.failed))),
            ], span: span.words)
        let waits = LineChart(
            title: "Milliseconds from ready to claimed, in the minute before",
            lines: [
                .init(name: "half of them less", values: points(ring, ring.values(\.waitMedian))),
                .init(name: "99 of 100 less", values: points(ring, ring.values(\.waitHigh))),
            ], span: span.words)
        return [
            "spans": History.Span.allCases.map {
                ["title": $0.words, "link": place($0), "isChosen": $0 == span] as Fields
            },
            "each": [depths, rates, waits].map { chart($0, ring.stepSeconds * Int64(step(ring))) },
        ]
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
                ["name": line.name, "number": index + 1, "now": line.values.last.flatMap { $0 }.map(Shown.rate) ?? "–"]
            },
        ]
    }
}
