import PenstockCore

/// A workflow: which messages are its tasks.
struct MemoryWorkflow: Sendable {
    /// The sequence number of its first task.
    var id: Int64
    var startedAt: Timestamp
    var cancelledAt: Timestamp?
    var tasks: [TaskName: SequenceNumber] = [:]
    /// The tasks that wait for each one.
    var children: [SequenceNumber: [SequenceNumber]] = [:]
}

/// What a message waits for.
struct MemoryDependency: Sendable {
    var parent: SequenceNumber
    var need: Dependency.Need
    var state: DependencyState
}

extension MemoryState {
    func workflow(_ name: WorkflowName) throws(PenstockError) -> MemoryWorkflow {
        guard let workflow = workflows[name] else {
            throw PenstockError.unknown(name)
        }
        return workflow
    }

    mutating func start(
        _ new: NewWorkflow, durability: Durability, at moment: Moment
    ) throws(PenstockError) -> StartedWorkflow {
        try new.validate(now: moment.now)
        if let name = new.name, let workflow = workflows[name] {
            let receipts = workflow.tasks.values.sorted().prefix(Limits.rowsMax).compactMap { messages[$0] }.map {
                Receipt(sequence: $0.sequence, state: $0.state, durability: durability, skipped: true)
            }
            return StartedWorkflow(name: name, receipts: receipts, isNew: false)
        }
        if let name = new.name { try NameRules.refuseUnseen(name.text, of: "workflow") }
        try refuseUnlessAllFit(new.tasks, at: moment)
        let first = SequenceNumber(lastSequence.rawValue + 1)
        let name = new.name ?? freeName(for: first)
        workflows[name] = MemoryWorkflow(id: first.rawValue, startedAt: moment.now)
        let sequences = append(new.tasks, to: name, at: moment)
        cascade(at: moment)
        let receipts = sequences.map {
            Receipt(sequence: $0, state: messages[$0]?.state ?? .cancelled, durability: durability)
        }
        return StartedWorkflow(name: name, receipts: receipts, isNew: true)
    }

    /// The name of a workflow that was given none. Somebody may have given it to another one by hand.
    private func freeName(for first: SequenceNumber) -> WorkflowName {
        let name = WorkflowName(firstTask: first)
        if workflows[name] == nil { return name }
        var number = 2
        while workflows[WorkflowName(stored: "\(name)-\(number)")] != nil { number += 1 }
        return WorkflowName(stored: "\(name)-\(number)")
    }

    /// Adds tasks to the workflow of the message `sequence`, which is about to be done.
    mutating func add(_ added: AddedTasks, by sequence: SequenceNumber, at moment: Moment) throws(PenstockError) {
        guard let place = messages[sequence]?.task, let workflow = workflows[place.workflow] else {
            throw PenstockError(
                .invalidInput, "Message \(sequence) is no task of a workflow, so it cannot add tasks to one.")
        }
        for task in added.tasks where workflow.tasks[task.name] != nil {
            throw PenstockError(
                .invalidInput, "The workflow '\(place.workflow)' has a task called '\(task.name)' already.")
        }
        try require(
            workflow.tasks.count + added.tasks.count <= Limits.taskCountMax,
            "A workflow has at most \(Limits.taskCountMax) tasks (taskCountMax).")
        let waiting = added.isAwaited ? waitingChildren(of: sequence, in: workflow) : []
        try require(
            waiting.count * added.tasks.count <= Limits.dependencyCountMax,
            "There are at most \(Limits.dependencyCountMax) dependencies on added tasks (dependencyCountMax).")
        try refuseUnlessAllFit(added.tasks, at: moment)
        let sequences = append(added.tasks, to: place.workflow, at: moment)
        for child in waiting {
            for parent in sequences { depend(child, on: parent, need: .done(), in: place.workflow) }
        }
        cascade(at: moment)
        if messages[sequence]?.hold?.request != nil, workflow.cancelledAt != nil {
            cancel(
                (workflows[place.workflow]?.tasks ?? [:]).values.filter { messages[$0]?.state.isFinished == false },
                at: moment)
        }
    }

    /// Those that wait for a task, and those that may wait for it again: cancelled as they waited in vain for another one, or dead as
    /// they expired.
    private func waitingChildren(of sequence: SequenceNumber, in workflow: MemoryWorkflow) -> [SequenceNumber] {
        (workflow.children[sequence] ?? []).filter { child in
            guard let child = messages[child] else { return false }
            let isOpen = child.dependencies.contains { $0.parent == sequence && $0.state == .open }
            return child.waitsForOthers || child.state == .dead && isOpen
        }
    }

    /// Cancels every task that has not ended, those that wait before those that they wait for. Workers of those that run are
    /// asked to end.
    mutating func cancel(_ name: WorkflowName, at moment: Moment) throws(PenstockError) -> Int {
        let workflow = try workflow(name)
        let open = workflow.tasks.values.filter { messages[$0]?.state.isFinished == false }
        if !open.isEmpty { workflows[name]?.cancelledAt = workflow.cancelledAt ?? moment.now }
        cancel(open, at: moment)
        return open.count
    }

    private mutating func cancel(_ tasks: [SequenceNumber], at moment: Moment) {
        // All of them before what follows from the end of any.
        isTelling = false
        for task in tasks.sorted() {
            if messages[task]?.state == .leased {
                _ = requestCancel(of: task, within: Limits.cancelTime, at: moment)
            } else {
                move(task, by: .cancelled, at: moment)
            }
        }
        isTelling = true
        cascade(at: moment)
    }

    /// Writes tasks into the log: those that wait for none into the line, by their queue's policy.
    private mutating func append(
        _ tasks: [NewTask], to name: WorkflowName, at moment: Moment
    ) -> [SequenceNumber] {
        var sequences: [TaskName: SequenceNumber] = [:]
        return tasks.map { task in
            let place = TaskPlace(workflow: name, task: task.name)
            let sequence = accept(task, at: place, moment)
            sequences[task.name] = sequence
            workflows[name]?.tasks[task.name] = sequence
            for dependency in task.dependencies {
                if let parent = sequences[dependency.task] {
                    depend(sequence, on: parent, need: dependency.need, in: name)
                }
            }
            return sequence
        }
    }

    private mutating func depend(
        _ child: SequenceNumber, on parent: SequenceNumber, need: Dependency.Need, in name: WorkflowName
    ) {
        messages[child]?.dependencies.append(MemoryDependency(parent: parent, need: need, state: .open))
        messages[child]?.dependencies.sort { $0.parent < $1.parent }
        workflows[name]?.children[parent, default: []].append(child)
        // It may have been dropped as it came.
        if messages[parent]?.state.isFinished == true { untold.append(parent) }
    }

    /// All tasks that wait for none must fit where a full queue drops nothing.
    private mutating func refuseUnlessAllFit(_ tasks: [NewTask], at moment: Moment) throws(PenstockError) {
        var roots: [QueueName: Int] = [:]
        for task in tasks {
            try GroupKey.refuse([task.message], task.queue, try openQueue(task.queue).policy)
            if task.dependencies.isEmpty { roots[task.queue, default: 0] += 1 }
        }
        // In all queues first: what has waited for a message that has expired may come into another one.
        for (name, count) in roots.sorted(by: { $0.key < $1.key }) { makeRoom(for: count, in: name, at: moment) }
        for (name, count) in roots.sorted(by: { $0.key < $1.key }) {
            let queue = try queue(name)
            let whenFull = queue.policy.capacity?.whenFull
            if whenFull == .wait || whenFull == .fail, count > queue.room {
                throw PenstockError(
                    .queueFull,
                    "The queue '\(name)' has room for \(queue.room) messages, and \(count) tasks go into it at once; "
                        + "nothing was enqueued.")
            }
        }
    }
}
