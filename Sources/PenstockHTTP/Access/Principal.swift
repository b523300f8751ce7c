package import PenstockCore

/// Whoever makes a request, and what he may do.
package struct Principal: Sendable, Hashable {
    /// The token's name. It is written down with what its holder changes.
    package var name: String
    /// What he may do.
    package var scopes: Set<Scope>
    /// To which queues that applies; `nil`: to all, and to what belongs to no queue.
    package var queues: [QueuePattern]?

    /// Someone on the same machine, where no tokens are asked for.
    package static let local = Principal(name: "local", scopes: Set(Scope.allCases))

    /// Whether he may do that with the queue; `nil`: with what belongs to no one queue.
    package func may(_ scope: Scope, _ queue: QueueName?) -> Bool {
        (scope == .read || queue != ReservedQueues.audit) && holds(scope, queue)
    }

    /// Whether his token says so, whatever queue it is.
    private func holds(_ scope: Scope, _ queue: QueueName?) -> Bool {
        guard scopes.contains(scope) else { return false }
        guard let queues else { return true }
        guard let queue else { return false }
        return queues.contains { $0.matches(queue) }
    }

    /// Throws a problem with status 403 when he may do that with no queue at all: before anything is looked up for him.
    package func require(_ scope: Scope) throws(Problem) {
        guard !scopes.contains(scope) else { return }
        throw refusal(of: scope, "any queue")
    }

    /// Throws a problem with status 403 when he may not do that with the queue.
    package func require(_ scope: Scope, _ queue: QueueName?) throws(Problem) {
        guard !may(scope, queue) else { return }
        if let queue, holds(scope, queue) {
            throw Problem.forbidden(
                "Nobody may \(scope.activity) the queue '\(queue)' by this server: it is the audit, which the server alone writes; "
                    + "only commands at the store itself change it.")
        }
        let what = queue.map { "the queue '\($0)'" } ?? "the whole store"
        throw refusal(of: scope, what)
    }

    /// Throws a problem with status 403 when he may not do that with the message, which is in `queue`. He is told the queue's
    /// name if he may read it.
    package func require(_ scope: Scope, _ queue: QueueName, ofMessage sequence: SequenceNumber) throws(Problem) {
        try require(scope, queue, of: "message \(sequence)")
    }

    /// Throws a problem with status 403 when he may not do that with the schedule, which is of `queue`. He is told the queue's
    /// name if he may read it.
    package func require(_ scope: Scope, _ queue: QueueName, ofSchedule name: ScheduleName) throws(Problem) {
        try require(scope, queue, of: "the schedule '\(name)'")
    }

    private func require(_ scope: Scope, _ queue: QueueName, of what: String) throws(Problem) {
        if holds(scope, queue) || holds(.read, queue) { return try require(scope, queue) }
        throw refusal(of: scope, what)
    }

    /// Throws a problem with status 403 when he may not do that with a cursor of the queue's log. One of a reader changes no entry of
    /// the audit, and so he may read that on from where he was. One with settings may name other queues, into which dead letters go.
    package func require(_ scope: Scope, cursorsOf queue: QueueName) throws(Problem) {
        if scope == .consume, holds(scope, queue) { return }
        try require(scope, queue)
        if scope == .operate { try require(scope, nil) }
    }

    /// Throws a problem with status 403 when a queue is to share another limit than before, and he may not operate the whole store: a
    /// limit is of all queues that share it.
    package func requireSharing(_ limit: LimitName?, insteadOf before: LimitName?) throws(Problem) {
        if limit != before { try require(.operate, nil) }
    }

    /// Says whether the scope is missing, or is there and holds for other queues alone.
    private func refusal(of scope: Scope, _ what: String) -> Problem {
        let reason =
            scopes.contains(scope)
            ? "its queues are others" : "it does not have the scope '\(scope.rawValue)'"
        return .forbidden("The token '\(name)' may not \(scope.activity) \(what): \(reason).")
    }
}

/// Names of queues: one, or all that begin with the same letters.
package struct QueuePattern: Sendable, Hashable {
    private let text: String
    private let isPrefix: Bool

    /// - Parameter text: a queue's name; with a `*` at its end all that begin so.
    package init(_ text: String) {
        isPrefix = text.hasSuffix("*")
        self.text = isPrefix ? String(text.dropLast()) : text
    }

    package func matches(_ queue: QueueName) -> Bool {
        isPrefix ? queue.text.utf8.starts(with: text.utf8) : queue.text.utf8.elementsEqual(text.utf8)
    }
}
