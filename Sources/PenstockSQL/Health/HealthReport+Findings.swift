package import PenstockCore

extension HealthReport {
    /// Adds a finding.
    ///
    /// - Parameter count: how many things it is about; there is nothing to add about none. The sentence is then a template of
    ///   ``CountedText``.
    package mutating func add(
        _ kind: HealthFinding.Kind, _ severity: HealthFinding.Severity, _ sentence: String, count: Int? = nil,
        queue: String? = nil
    ) {
        if count == 0 { return }
        let sentence = count.map { CountedText.sentence(sentence, $0) } ?? sentence
        findings.append(HealthFinding(kind, severity, sentence, queue: queue.map { QueueName(stored: $0) }))
    }

    /// Reports the messages whose numbers `sql` gives, if there are any. What is wrong is a template of ``CountedText``.
    package mutating func find(
        _ sql: String, _ kind: HealthFinding.Kind, _ what: String, _ connection: Connection
    ) throws {
        let statement = try connection.statement(sql: "SELECT count(*) FROM (\(sql)) AS found")
        let count = Int(try connection.all(statement, []) { $0.integer(0) }.first ?? 0)
        if count == 0 { return }
        let first = try connection.statement(sql: "\(sql) ORDER BY 1 LIMIT \(Self.examplesMax)")
        let examples = try connection.all(first, []) { $0.integer(0) }
        let end = count > examples.count ? ", …." : "."
        add(
            kind, .error,
            "COUNT {message|messages} \(what): \(examples.map(String.init).joined(separator: ", "))\(end)", count: count
        )
    }

    /// Of one kind of fault so many examples are named at most.
    private static let examplesMax = 5

    /// What to do about a fault that can be repaired, as the end of a sentence. At a server nothing is.
    package var repair: String { server == nil ? "; run `penstock doctor --repair`" : "" }

    /// The same of one for which the repair does that.
    package func repair(_ what: String) -> String {
        server == nil ? "; `penstock doctor --repair` \(what)" : ""
    }

    /// Puts the worst first.
    package mutating func sort() { findings.sort { $0.severity.rank < $1.severity.rank } }
}

extension HealthFinding.Severity {
    /// Its place in a report.
    fileprivate var rank: Int {
        switch self {
        case .error: 0
        case .warning: 1
        case .note: 2
        }
    }
}

/// Sentences about a number of things, in which one thing is one.
package enum CountedText {
    /// `template` with `count` for COUNT, and of each `{one|several}` the words that go with it.
    package static func sentence(_ template: String, _ count: Int) -> String {
        template.replacing(/\{([^|}]*)\|([^}]*)\}/) { count == 1 ? $0.1 : $0.2 }.replacing("COUNT", with: "\(count)")
    }
}
