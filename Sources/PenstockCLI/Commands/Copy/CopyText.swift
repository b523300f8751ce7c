import Penstock
import PenstockFormats

/// What a copy has done, for people and programs.
enum CopyText {
    private static let states: [MessageState] = [
        .pending, .scheduled, .blocked, .ready, .leased, .dead, .done, .dropped, .cancelled,
    ]

    @MainActor static func show(_ report: CopyReport, _ copy: StoreCopy, isJSON: Bool) throws {
        let output = Output()
        let sentence = sentence(report, copy)
        try output.answer("\(sentence) But that cannot be shown.") { () throws(Failure) in
            if isJSON {
                try output.line(
                    .object([
                        "source": .string(copy.source), "target": .string(copy.target),
                        "copied": .integer(report.total),
                        "sequenceOffset": .integer(Int(report.sequenceOffset)), "setAside": .integer(report.setAside),
                        "wasFinished": .bool(report.wasFinished), "queues": json(report.queues),
                    ]))
            } else {
                try output.table(table(report.queues))
                try output.line(sentence)
            }
        }
    }

    /// Queues with how many messages are in each state, without states that none is in.
    static func table(_ queues: [CopyReport.Queue]) -> Table {
        let used = states.filter { state in queues.contains { $0.counts[state, default: 0] > 0 } }
        var table = Table([.text("QUEUE", widthMax: 40)] + used.map { .number($0.rawValue.uppercased()) })
        for queue in queues {
            table.add([Escape.text(queue.name.text)] + used.map { "\(queue.counts[$0, default: 0])" })
        }
        return table
    }

    static func json(_ queues: [CopyReport.Queue]) -> JSONValue {
        .array(
            queues.map { queue in
                let counts = states.filter { queue.counts[$0, default: 0] > 0 }
                    .map { JSONValue.Member(key: $0.rawValue, value: .integer(queue.counts[$0, default: 0])) }
                return .object(["queue": .string(queue.name.text), "messages": .object(counts)])
            })
    }

    private static func sentence(_ report: CopyReport, _ copy: StoreCopy) -> String {
        let (source, target) = (Escape.text(copy.source), Escape.text(copy.target))
        var sentence =
            report.wasFinished
            ? "\(source) had moved to \(target) before, with these \(CountText.format(report.total, "message"))"
            : "\(CountText.format(report.total, "message")) of \(source) \(report.total == 1 ? "was" : "were") counted in \(target)"
        sentence +=
            report.sequenceOffset == 0 ? ", with the same numbers" : ", with numbers higher by \(report.sequenceOffset)"
        if report.setAside > 0 {
            sentence += "; \(CountText.format(report.setAside, "row")) that had been set aside stayed behind"
        }
        return sentence
            + ". \(source) is closed; `\(Escape.text(StoreCopy.cancellation(of: copy.source)))` says how it is opened again."
    }
}
