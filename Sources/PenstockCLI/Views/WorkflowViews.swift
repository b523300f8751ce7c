import Penstock
import PenstockFormats

/// Workflows and their tasks, for people.
enum WorkflowTables {
    static func list() -> Table {
        Table([
            .text("WORKFLOW", widthMax: 40), .text("STATE"), .text("STARTED"), .number("TASKS"), .number("PENDING"),
            .number("WAITING"), .number("LEASED"), .number("DONE"), .number("FAILED"),
        ])
    }

    static func listRow(_ record: WorkflowRecord) -> [String] {
        func count(_ states: MessageState...) -> String { "\(states.reduce(0) { $0 + record.counts[$1, default: 0] })" }
        return [
            Escape.text(record.name.text), record.state.rawValue, TimeText.short(record.startedAt),
            "\(record.counts.values.reduce(0, +))", count(.pending), count(.scheduled, .blocked, .ready),
            count(.leased),
            count(.done), count(.dead, .dropped, .cancelled),
        ]
    }

    static func summary(_ record: WorkflowRecord) -> String {
        let counts = MessageState.allCases.compactMap { state in
            record.counts[state].flatMap { $0 > 0 ? "\($0) \(state.rawValue)" : nil }
        }
        return
            "\(Escape.text(record.name.text)) \(record.state.rawValue), started \(TimeText.short(record.startedAt)): "
            + counts.joined(separator: ", ")
    }

    /// Tasks, and what each of them waits for. Of many only the first are named.
    static func tasks(_ tasks: [TaskRecord]) -> Table {
        var table = Table([
            .text("TASK", widthMax: 40), .number("SEQUENCE"), .text("QUEUE", widthMax: 30), .text("STATE"),
            .text("WAITS FOR", widthMax: 60),
        ])
        for task in tasks {
            table.add([
                Escape.text(task.name.text), "\(task.sequence)", Escape.text(task.queue.text),
                task.reason.map { "\(task.state.rawValue) (\($0.rawValue))" } ?? task.state.rawValue,
                waits(of: task),
            ])
        }
        return table
    }

    private static let namedMax = 5

    private static func waits(of task: TaskRecord) -> String {
        guard task.state == .pending else { return "" }
        let open = task.dependencies.filter { $0.state == .open }
        let names = open.prefix(namedMax).map { Escape.text($0.dependency.task.text) }.joined(separator: ", ")
        return open.count > namedMax ? "\(names) and \(open.count - namedMax) more" : names
    }
}
