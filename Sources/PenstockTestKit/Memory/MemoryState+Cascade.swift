import PenstockCore

/// Telling those that wait for a task what became of it.
extension MemoryState {
    /// A task has ended, or has come back.
    mutating func tell(of sequence: SequenceNumber, at moment: Moment) {
        untold.append(sequence)
        // What a child tells in turn is told by the loop that moved it.
        if untold.count == 1, isTelling { cascade(at: moment) }
    }

    /// Makes the dependencies on every task that is ``untold`` agree with its state.
    mutating func cascade(at moment: Moment) {
        while let parent = untold.first {
            for child in children(of: parent) { agree(child, with: parent, at: moment) }
            untold.removeFirst()
        }
    }

    private func children(of parent: SequenceNumber) -> [SequenceNumber] {
        guard let place = messages[parent]?.task else {
            // It is gone. Those that waited for it are found one by one.
            return messages.values.filter { child in child.dependencies.contains { $0.parent == parent } }
                .map(\.sequence).sorted()
        }
        return workflows[place.workflow]?.children[parent] ?? []
    }

    /// Makes one dependency agree with the state of its task, and moves the one that waits to where that says.
    mutating func agree(_ sequence: SequenceNumber, with parent: SequenceNumber, at moment: Moment) {
        guard var child = messages[sequence],
            let index = child.dependencies.firstIndex(where: { $0.parent == parent })
        else { return }
        // One that is gone can never be done. What had been decided before stays.
        if messages[parent] == nil, child.dependencies[index].state != .open { return }
        let state = messages[parent]?.state ?? .cancelled
        let standing = Dependency.standing(of: child.dependencies[index].need, whenTaskIs: state)
        if child.dependencies[index].state == standing { return }
        // What has been done stays so, also for a child that has gone on by hand.
        guard child.waitsForOthers || standing == .met else { return }
        child.dependencies[index].state = standing
        messages[sequence] = child
        guard child.waitsForOthers else { return }
        let states = Set(child.dependencies.map(\.state))
        if states.contains(.failed) {
            move(sequence, by: .parentFailed, at: moment)
        } else if child.state != .cancelled || queues[child.queue]?.isDeleting != true {
            move(sequence, by: .revived, at: moment)
            if !states.contains(.open) {
                move(sequence, by: .released(due: child.new.dueTime(acceptedAt: moment.now)), at: moment)
            }
        }
    }

    /// Takes the task `sequence`, which is gone, out of its workflow; and the workflow, when it was the last one.
    mutating func forget(_ place: TaskPlace, _ sequence: SequenceNumber) {
        workflows[place.workflow]?.tasks[place.task] = nil
        if workflows[place.workflow]?.children.removeValue(forKey: sequence) != nil { untold.append(sequence) }
        if workflows[place.workflow]?.tasks.isEmpty == true {
            workflows[place.workflow] = nil
            events[.workflow(place.workflow)] = nil
        }
    }

    /// Whether the message is a task that stays: while its workflow has one that has not ended, or a dead letter, whose redrive brings
    /// others back. Dead letters do not keep each other.
    func isNeeded(_ message: MemoryMessage) -> Bool {
        guard let place = message.task, let workflow = workflows[place.workflow] else { return false }
        return workflow.tasks.values.contains { sequence in
            guard let state = messages[sequence]?.state else { return false }
            return !state.isFinished || state == .dead && message.state != .dead
        }
    }
}
