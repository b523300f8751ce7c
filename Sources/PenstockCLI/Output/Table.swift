import PenstockFormats

/// A table for people: columns in line, two spaces between them, and nothing a cell holds can break a line.
struct Table {
    struct Column {
        enum Alignment {
            case left
            case right
        }

        var title: String
        var alignment: Alignment
        /// The most columns of the terminal it may take; longer cells are cut.
        var widthMax: Int?

        static func text(_ title: String, widthMax: Int? = nil) -> Column {
            Column(title: title, alignment: .left, widthMax: widthMax)
        }

        static func number(_ title: String) -> Column { Column(title: title, alignment: .right) }
    }

    private let columns: [Column]
    private var rows: [[String]] = []

    init(_ columns: [Column]) { self.columns = columns }

    /// Adds a row of as many cells as there are columns. Cells hold safe text: what ``Escape`` made.
    mutating func add(_ cells: [String]) {
        precondition(cells.count == columns.count, "A row has a cell for each column.")
        rows.append(
            zip(columns, cells).map { column, cell in column.widthMax.map { Columns.cut(cell, to: $0) } ?? cell })
    }

    /// The table's lines: the titles and then the rows. No line ends in spaces.
    var lines: [String] {
        let titles = columns.map(\.title)
        let widths = columns.indices.map { index in
            ([titles] + rows).lazy.map { Columns.width(of: $0[index]) }.max() ?? 0
        }
        return ([titles] + rows).map { cells in
            var line = ""
            for (index, cell) in cells.enumerated() {
                let padding = String(repeating: " ", count: widths[index] - Columns.width(of: cell))
                if index > 0 { line += "  " }
                line += columns[index].alignment == .left ? cell + padding : padding + cell
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }

    /// The lines of one thing: what each fact is called, and then the fact.
    static func lines(of facts: [(String, String)]) -> [String] {
        let width = facts.map(\.0.count).max() ?? 0
        return facts.map { $0 + String(repeating: " ", count: width + 2 - $0.count) + $1 }
    }
}
