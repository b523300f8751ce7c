/// Numbers over time as lines, in SVG that holds nothing but numbers and the words of this program.
///
/// Colours are the style sheet's, by the number of the line; each line has a form of its own (whole, dashed, dotted) as well.
struct LineChart {
    /// One line.
    struct Line {
        var name: String
        /// A value for each step of time, the oldest first; `nil`: nobody looked then.
        var values: [Double?]
        /// The newest one, where a value of the line stands for more than one look.
        var now: Double?
    }

    /// What the chart shows, for people who do not see it.
    var title: String
    var lines: [Line]
    /// The time that the values are from, in words: "2 minutes".
    var span: String

    private static let (width, height) = (600.0, 150.0)
    private static let (left, right, top, bottom) = (56.0, 6.0, 14.0, 24.0)

    /// The chart.
    var svg: Markup {
        let top = scale
        var svg = "<svg class=\"chart\" viewBox=\"0 0 600 150\" role=\"img\" aria-label=\"\(title), last \(span)\">"
        for part in [0.0, 0.5, 1.0] {
            let y = Shown.decimal(place(part * top, of: top))
            svg += "<line class=\"grid\" x1=\"56\" x2=\"594\" y1=\"\(y)\" y2=\"\(y)\"/>"
            svg += "<text x=\"50\" y=\"\(y)\" dy=\"4\" text-anchor=\"end\">\(Self.label(part * top))</text>"
        }
        svg += "<text x=\"56\" y=\"145\">\(span) ago</text><text x=\"594\" y=\"145\" text-anchor=\"end\">now</text>"
        for (index, line) in lines.enumerated() {
            svg += "<path class=\"line line\(index + 1)\" d=\"\(path(line.values, top))\"/>"
        }
        return svg + "</svg>"
    }

    /// A line alone, small enough for a row of a table.
    static func spark(_ values: [Double?]) -> Markup {
        let top = max(values.compactMap(\.self).max() ?? 0, 1)
        let step = 100 / Double(max(values.count - 1, 1))
        let path = path(values) { (Double($0) * step, 21 - $1 / top * 19) }
        return
            "<svg class=\"spark\" viewBox=\"0 0 100 22\" aria-hidden=\"true\"><path class=\"line line1\" d=\"\(path)\"/></svg>"
    }

    /// The highest value that the chart has room for: a round one.
    private var scale: Double {
        let highest = lines.flatMap(\.values).compactMap(\.self).max() ?? 0
        var unit = 1.0
        while unit * 10 < highest { unit *= 10 }
        for factor in [1.0, 2, 4, 6, 10] where unit * factor >= highest { return max(unit * factor, 2) }
        return unit * 10
    }

    private func place(_ value: Double, of top: Double) -> Double {
        Self.height - Self.bottom - value / top * (Self.height - Self.bottom - Self.top)
    }

    private func path(_ values: [Double?], _ top: Double) -> String {
        let step = (Self.width - Self.left - Self.right) / Double(max(values.count - 1, 1))
        return Self.path(values) { (Self.left + Double($0) * step, place($1, of: top)) }
    }

    /// Lines between the values; none where one is missing.
    private static func path(_ values: [Double?], _ place: (Int, Double) -> (x: Double, y: Double)) -> String {
        var path = ""
        var isDrawing = false
        for (index, value) in values.enumerated() {
            guard let value else {
                isDrawing = false
                continue
            }
            let (x, y) = place(index, value)
            path += "\(isDrawing ? "L" : "M")\(Shown.decimal(x)) \(Shown.decimal(y))"
            isDrawing = true
        }
        return path
    }

    private static func label(_ value: Double) -> String {
        switch value {
        case 1_000_000...: "\(Shown.decimal(value / 1_000_000))M"
        case 1000...: "\(Shown.decimal(value / 1000))k"
        default: Shown.decimal(value)
        }
    }
}
