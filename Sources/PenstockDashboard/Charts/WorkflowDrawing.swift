import PenstockCore
import PenstockFormats

/// A workflow's tasks as a graph: each task right of all that it depends on.
struct WorkflowDrawing {
    /// Tasks that a drawing has at most; of more the table alone tells.
    static let taskCountMax = 200

    /// Dependencies that a drawing has at most: of more nobody sees where each leads.
    static let edgeCountMax = 2000

    let tasks: [TaskRecord]

    private static let (boxWidth, boxHeight, columnStep, rowStep) = (150, 34, 200, 50)

    /// The graph. Names are escaped as on the rest of the page.
    var svg: Markup {
        let places = places
        let width = (places.values.map(\.column).max() ?? 0) * Self.columnStep + Self.boxWidth + 8
        let height = (places.values.map(\.row).max() ?? 0) * Self.rowStep + Self.boxHeight + 8
        let text = PageText()
        var svg =
            "<svg class=\"graph\" viewBox=\"0 0 \(width) \(height)\" width=\"\(width)\" height=\"\(height)\" role=\"img\" "
            + "aria-label=\"The tasks and what each depends on; the table below says the same\">"
        for task in tasks {
            guard let end = places[task.name] else { continue }
            for record in task.dependencies {
                guard let begin = places[record.dependency.task] else { continue }
                let (x1, y1) = (Self.x(begin) + Self.boxWidth, Self.y(begin) + Self.boxHeight / 2)
                let (x2, y2) = (Self.x(end), Self.y(end) + Self.boxHeight / 2)
                let bend = (x2 - x1) / 2
                let form = record.dependency.need == .ended ? "edge loose" : "edge"
                svg +=
                    "<path class=\"\(form)\" d=\"M\(x1) \(y1)C\(x1 + bend) \(y1) \(x2 - bend) \(y2) \(x2) \(y2)\"/>"
            }
        }
        for task in tasks {
            guard let place = places[task.name] else { continue }
            let state = task.state.rawValue
            svg += "<a href=\"\(Link.message(task.sequence))\" class=\"task \(state)\">"
            svg +=
                "<rect x=\"\(Self.x(place))\" y=\"\(Self.y(place))\" width=\"\(Self.boxWidth)\" height=\"\(Self.boxHeight)\" rx=\"5\"/>"
            svg +=
                "<text x=\"\(Self.x(place) + 8)\" y=\"\(Self.y(place) + 15)\">\(text.escapeText(Self.cut(task.name.text)))</text>"
            svg += "<text class=\"state\" x=\"\(Self.x(place) + 8)\" y=\"\(Self.y(place) + 28)\">\(state)</text></a>"
        }
        return svg + "</svg>"
    }

    private struct Place {
        var column: Int
        var row: Int
    }

    /// A task's column is one more than the largest of those that it depends on. Tasks come after all that they depend on.
    private var places: [TaskName: Place] {
        var places: [TaskName: Place] = [:]
        var rows: [Int: Int] = [:]
        for task in tasks {
            let column = (task.dependencies.compactMap { places[$0.dependency.task]?.column }.max() ?? -1) + 1
            let row = rows[column, default: 0]
            rows[column] = row + 1
            places[task.name] = Place(column: column, row: row)
        }
        return places
    }

    private static func x(_ place: Place) -> Int { 4 + place.column * columnStep }
    private static func y(_ place: Place) -> Int { 4 + place.row * rowStep }

    /// As much of a name as a box has room for: twenty narrow letters, or ten of the width of Chinese ones.
    private static func cut(_ name: String) -> String {
        func width(_ letter: Character) -> Int { letter.unicodeScalars.contains { $0.value >= 0x1100 } ? 2 : 1 }
        if name.reduce(0, { $0 + width($1) }) <= 20 { return name }
        var left = 19
        return name.prefix { letter in
            left -= width(letter)
            return left >= 0
        } + "…"
    }
}
