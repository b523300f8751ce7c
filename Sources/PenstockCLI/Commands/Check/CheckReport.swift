import Penstock
import PenstockCore
import PenstockFormats

/// What `penstock check` looks at, and how far it may go; `nil`: it is not looked at.
struct CheckBounds: Sendable, Equatable {
    var ready: CheckBound?
    /// Of the oldest ready message, in seconds.
    var age: CheckBound?
    var dead: CheckBound?
    /// In percent of a queue's capacity.
    var used: CheckBound?
    var workers: CheckBound?
}

/// What a check has found: a pure function of the store's status and the bounds.
struct CheckReport: Sendable {
    /// One number that was looked at.
    struct Finding: Sendable {
        /// `nil`: it is of the whole store.
        var queue: QueueName?
        /// The word for what was looked at, which is that of its option.
        var subject: String
        var value: Int
        /// The unit of plugins of Nagios: `s`, `%` or none.
        var unit = ""
        var bound: CheckBound
        var state: CheckState
        /// What the number is and how far it may go, as a sentence for people.
        var sentence: String
    }

    /// Everything that was looked at, in the order of the queues.
    private(set) var findings: [Finding] = []
    /// The numbers in one sentence, without a full stop.
    let summary: String

    init(_ status: StoreStatus, _ bounds: CheckBounds, now: Timestamp) {
        let workers = status.workers.count { $0.isAlive == true }
        func sum(_ number: KeyPath<Depths, Int>) -> Int { status.queues.reduce(0) { $0 &+ $1.depths[keyPath: number] } }
        let alive = status.knowsWorkers ? "; \(CountText.format(workers, "worker"))" : ""
        summary =
            (status.move.map { "\(Escape.line($0.statement)); " } ?? "")
            + "\(CountText.format(status.queues.count, "queue")): \(sum(\.ready)) ready, \(sum(\.leased)) leased, "
            + "\(sum(\.dead)) dead\(alive)"
        if let move = status.move {
            // Each check asks for a store that takes messages, so this one has no option, and is said only then.
            findings.append(
                Finding(
                    subject: Self.moved, value: 1, bound: CheckBound(critical: 0), state: .critical,
                    sentence: Escape.line(move.statement)))
        }
        for queue in status.queues { add(queue, bounds, now) }
        if let bound = bounds.workers {
            findings.append(
                Finding(
                    subject: "workers", value: workers, bound: bound, state: bound.state(ofLeast: workers),
                    sentence: "\(CountText.format(workers, "worker")) \(workers == 1 ? "is" : "are") alive"))
        }
    }

    private mutating func add(_ queue: QueueStatus, _ bounds: CheckBounds, _ now: Timestamp) {
        func add(_ subject: String, _ value: Int, _ bound: CheckBound?, _ sentence: String, unit: String = "") {
            guard let bound else { return }
            findings.append(
                Finding(
                    queue: queue.name, subject: subject, value: value, unit: unit, bound: bound,
                    state: bound.state(ofMost: value), sentence: sentence))
        }
        if queue.isDeleting {
            // A deletion or a copy lasts a while, and takes nothing; one that was broken off lasts until somebody sees it.
            add(
                Self.closed, 1, CheckBound(warning: 0, critical: 1),
                "it is being deleted, or copied here, and takes and gives nothing")
        }
        add("ready", queue.depths.ready, bounds.ready, "\(CountText.format(queue.depths.ready, "message")) ready")
        let age = queue.oldestReady.map { max(now - $0, .zero) } ?? .zero
        add(
            "age", Int(age.components.seconds), bounds.age,
            "the oldest ready message has waited \(DurationText.short(age))", unit: "s")
        add("dead", queue.depths.dead, bounds.dead, CountText.format(queue.depths.dead, "dead letter"))
        if let capacity = queue.policy.capacity {
            let used = Int((Double(queue.depths.waiting) / Double(max(1, capacity.count)) * 100).rounded(.down))
            add("used", used, bounds.used, "\(used)% of the capacity used", unit: "%")
        }
    }

    /// The subject of the move of a store.
    static let moved = "moved"
    /// The subject of a queue that is closed.
    static let closed = "closed"

    /// The gravest of all.
    var state: CheckState { findings.map(\.state).max() ?? .ok }

    /// What is not as it should be, the gravest first.
    var problems: [Finding] {
        findings.filter { $0.state > .ok }.enumerated()
            .sorted { ($1.element.state, $0.offset) < ($0.element.state, $1.offset) }.map(\.element)
    }
}

extension CheckReport.Finding {
    /// What was found, with its queue and its bound.
    var line: String {
        let place = queue.map { "queue \(Escape.text($0.text)): " } ?? ""
        // How far these may go nobody has said.
        if subject == CheckReport.moved || subject == CheckReport.closed { return place + sentence }
        let limit = state == .critical ? bound.critical : bound.warning ?? bound.critical
        return "\(place)\(sentence), \(subject == "workers" ? "at least" : "at most") \(limit)\(unit)"
    }
}
