import PenstockCore

/// Whose dependents one transaction has to go through: tasks that have ended or come back, and workflows that are cancelled.
///
/// What is noted needlessly does no harm, as each dependency is compared with what it must be. What is forgotten leaves a
/// message waiting for ever.
struct CascadeWork {
    /// A task or a workflow that is cancelled; the other number is 0. A workflow that an event came to has ``event`` for the other.
    struct Subject: Hashable {
        /// In place of a sequence number: those tasks of the workflow are gone through that wait for an event which is there.
        static let event: Int64 = -1

        var workflowID: Int64 = 0
        var sequence: Int64 = 0
    }

    /// What is to be gone through.
    struct Item {
        var subject: Subject
        /// The last one that was looked at.
        var after: Int64
    }

    /// Dependencies that this transaction has gone through.
    private(set) var handledCount = 0
    /// Whether the transaction has taken up what others have left.
    var hasGoneOn = false
    private var afters: [Subject: Int64] = [:]
    /// How far the rows say that others have come, of those that were taken up and are not gone.
    private var rows: [Subject: Int64] = [:]
    /// In the order in which they were noted, from `head` on. One that is not in `afters` was taken.
    private var order: [Subject] = []
    private var head = 0
    /// Workflows come first: their tasks are cancelled as asked for, and not since others were.
    private var workflows: [Subject] = []

    /// How many dependencies more this transaction goes through.
    var left: Int { max(0, Limits.cascadeCountMax - handledCount) }

    /// Whether nothing is left to be gone through.
    var isEmpty: Bool { afters.isEmpty }

    /// What is left, and is not as a row says.
    var unwritten: [Item] {
        afters.compactMap { subject, after in rows[subject] == after ? nil : Item(subject: subject, after: after) }
    }

    /// Notes that the task `sequence` has ended or come back. All that depends on it is gone through, from the first on.
    mutating func note(_ sequence: Int64) {
        add(Item(subject: Subject(sequence: sequence), after: 0))
    }

    mutating func note(cancelled workflowID: Int64) {
        add(Item(subject: Subject(workflowID: workflowID), after: 0))
    }

    /// Notes that an event came to the workflow. Those that wait for it are found by what they wait for, so there is no cursor.
    mutating func note(eventFor workflowID: Int64) {
        add(Item(subject: Subject(workflowID: workflowID, sequence: Subject.event), after: 0))
    }

    /// Whether it is still to be told what became of the task `sequence`.
    func isNoted(_ sequence: Int64) -> Bool {
        afters[Subject(sequence: sequence)] != nil
    }

    /// Takes up what another transaction has left in a row.
    mutating func take(row: Item) {
        rows[row.subject] = row.after
        take(up: row)
    }

    /// The row of a subject is gone, if there was one.
    mutating func lostRow(of subject: Subject) { rows[subject] = nil }

    /// Takes up what is left of a subject, unless it is noted already.
    mutating func take(up item: Item) {
        if afters[item.subject] == nil { add(item) }
    }

    private mutating func add(_ item: Item) {
        if afters.updateValue(item.after, forKey: item.subject) == nil {
            if item.subject.sequence == 0 { workflows.append(item.subject) } else { order.append(item.subject) }
        }
    }

    /// Takes out what is to be gone through next.
    mutating func next() -> Item? {
        while let subject = workflows.popLast() {
            if let after = afters.removeValue(forKey: subject) { return Item(subject: subject, after: after) }
        }
        while head < order.count {
            defer { head += 1 }
            if let after = afters.removeValue(forKey: order[head]) { return Item(subject: order[head], after: after) }
        }
        (order, head) = ([], 0)
        return nil
    }

    /// Counts so many dependencies in, or a subject that has none.
    mutating func handled(_ count: Int) {
        handledCount += max(1, count)
    }

    /// What is to be gone through when everything since `before` is undone: what was noted then, with the cursors of then, and
    /// what was noted since.
    func undone(to before: CascadeWork) -> CascadeWork {
        var work = before
        for subject in afters.keys { work.take(up: Item(subject: subject, after: 0)) }
        work.handledCount = handledCount
        return work
    }
}
