import Penstock
import PenstockCore
import PenstockFormats
import PenstockMetrics

/// The ways in which `penstock check` says what it has found.
enum CheckFormat: String, CaseIterable, Sendable {
    case text
    case nagios
    case json
    case prometheus
}

extension CheckReport {
    var textLines: [String] {
        let words: [CheckState: String] = [.warning: "warn", .critical: "fail"]
        return problems.map { "\(words[$0.state] ?? "ok")  \($0.line)." } + (state == .ok ? ["ok    \(summary)."] : [])
    }

    /// What plugins of Nagios write: a line with its numbers behind a bar, and a line for each further problem.
    var nagiosLines: [String] {
        let problems = problems
        let first = problems.first.map { $0.line + (problems.count > 1 ? ", and \(problems.count - 1) more" : "") }
        let numbers = findings.prefix(Self.nagiosNumberCountMax).map(\.nagiosNumber).joined(separator: " ")
        let line = "PENSTOCK \(state.word.uppercased()) - \(Self.withoutBars(first ?? summary))"
        return [numbers.isEmpty ? line : "\(line) | \(numbers)"]
            + problems.dropFirst().map { Self.withoutBars("\($0.state.word): \($0.line)") }
    }

    /// Nagios reads no more than some kilobytes.
    private static let nagiosNumberCountMax = 60

    /// A bar would begin the numbers.
    static func withoutBars(_ text: String) -> String { text.replacing("|", with: "/") }

    var json: JSONValue {
        .object([
            "status": .string(state.word),
            "summary": .string(summary),
            "checks": .array(
                findings.map { finding in
                    .object([
                        "queue": .optional(finding.queue) { .string($0.text) },
                        "check": .string(finding.subject),
                        "status": .string(finding.state.word),
                        "value": .integer(finding.value),
                        "warning": .optional(finding.bound.warning) { .integer($0) },
                        "critical": .integer(finding.bound.critical),
                    ])
                }),
        ])
    }

    /// The numbers of the store by the server's names, and what was found.
    ///
    /// - Parameter file: the store's file; `nil`: it is not one that has a size.
    func prometheus(_ status: StoreStatus, file: String?) -> PrometheusText {
        var text = PrometheusText()
        text.add(version: Version.text)
        text.add(status)
        if let file { text.add(fileAt: file) }
        text.begin("penstock_check_status", .gauge, "What a check has found: 0 ok, 1 a warning, 2 critical.")
        for finding in findings {
            let check = Labels(["queue": finding.queue?.text ?? "", "check": finding.subject])
            text.sample(check, finding.state.rawValue)
        }
        return text
    }
}

extension CheckReport.Finding {
    /// `'mail ready'=5;500;1000;0`. A name that would end early is written with underscores.
    fileprivate var nagiosNumber: String {
        let name = (queue.map { "\(Escape.text($0.text)) " } ?? "") + subject
        let safe = String(name.map { "'=|".contains($0) ? "_" : $0 })
        // Of what may not be too small, a plugin's bounds say so by a colon behind them.
        let end = subject == "workers" ? ":" : ""
        let warning = bound.warning.map { "\($0)\(end)" } ?? ""
        return "'\(safe)'=\(value)\(unit);\(warning);\(bound.critical)\(end);0"
    }
}
