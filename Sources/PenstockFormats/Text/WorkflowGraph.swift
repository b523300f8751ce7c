package import PenstockCore

/// A language in which a graph is written.
package enum GraphFormat: String, CaseIterable {
    case dot, mermaid
}

/// A workflow as a graph for other programs. Names are whatever somebody gave them, so none is written where it could mean
/// something: tasks are called by their sequence numbers, and their names are quoted.
package struct WorkflowGraph {
    package let name: WorkflowName
    package let tasks: [TaskRecord]

    package init(name: WorkflowName, tasks: [TaskRecord]) {
        self.name = name
        self.tasks = tasks
    }

    package func lines(_ format: GraphFormat) -> [String] {
        let numbers = Dictionary(tasks.map { ($0.name, $0.sequence) }) { first, _ in first }
        var lines: [String] =
            switch format {
            case .dot: ["digraph \(Self.quotedInDot(Escape.line(name.text))) {", "  node [shape=box];"]
            case .mermaid: ["flowchart TD"]
            }
        for task in tasks {
            let (label, state) = (Escape.line(task.name.text), task.state.rawValue)
            switch format {
            case .dot: lines.append("  t\(task.sequence) [label=\(Self.quotedInDot("\(label)\n\(state)"))];")
            case .mermaid: lines.append("  t\(task.sequence)[\"\(Self.escapedInMermaid(label))<br/>\(state)\"]")
            }
        }
        for task in tasks {
            for record in task.dependencies {
                guard let parent = numbers[record.dependency.task] else { continue }
                let isDotted = record.dependency.need == .ended
                switch format {
                case .dot: lines.append("  t\(parent) -> t\(task.sequence)\(isDotted ? " [style=dotted]" : "");")
                case .mermaid: lines.append("  t\(parent) \(isDotted ? "-.->" : "-->") t\(task.sequence)")
                }
            }
        }
        if format == .dot { lines.append("}") }
        return lines
    }

    /// In DOT a backslash begins an escape within quotes, also before letters.
    private static func quotedInDot(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            switch character {
            case "\\": quoted += "\\\\"
            case "\"": quoted += "\\\""
            case "\n": quoted += "\\n"
            default: quoted.unicodeScalars.append(character)
            }
        }
        return quoted + "\""
    }

    /// In Mermaid `#` and a number with a semicolon is a character; nothing else within quotes is safe from its marks.
    private static func escapedInMermaid(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            let isPlain =
                !scalar.isASCII || scalar == " " || scalar == "-" || scalar == "_" || scalar == "."
                || ("0"..."9").contains(scalar) || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
            if isPlain { escaped.unicodeScalars.append(scalar) } else { escaped += "#\(scalar.value);" }
        }
        return escaped
    }
}
