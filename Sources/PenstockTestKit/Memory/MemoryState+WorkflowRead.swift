import PenstockCore

extension MemoryState {
    func workflows(_ query: WorkflowQuery) throws(PenstockError) -> [WorkflowRecord] {
        try query.validate()
        if let name = query.name { _ = try workflow(name) }
        let found = workflows.filter { query.name == nil || $0.key == query.name }
            .filter { $0.value.id > query.after ?? 0 && $0.value.id < query.preceding ?? .max }
            .sorted { $0.value.id < $1.value.id }
        return (query.end == .first ? found.prefix(query.limit) : found.suffix(query.limit))
            .map { name, workflow in
                let states = workflow.tasks.values.compactMap { messages[$0]?.state }
                return WorkflowRecord(
                    id: workflow.id, name: name, startedAt: workflow.startedAt, cancelledAt: workflow.cancelledAt,
                    counts: Dictionary(states.map { ($0, 1) }, uniquingKeysWith: +))
            }
    }

    func tasks(_ query: TaskQuery) throws(PenstockError) -> [TaskRecord] {
        try query.validate()
        let workflow = try workflow(query.workflow)
        var sequences = workflow.tasks.values.sorted()
        if let name = query.name {
            guard let sequence = workflow.tasks[name] else {
                throw PenstockError(
                    .unknownTask, "The workflow '\(query.workflow)' has no task called '\(name)'.")
            }
            sequences = [sequence]
        }
        let found = sequences.filter { $0 > query.after ?? SequenceNumber(0) }.prefix(query.limit)
        var page = PageBytes()
        return found.compactMap { messages[$0] }.compactMap { record(ofTask: $0, withResult: query.withResult) }
            .prefix { page.admits($0.result?.count ?? 0) }
    }

    private func record(ofTask message: MemoryMessage, withResult: Bool) -> TaskRecord? {
        guard let place = message.task else { return nil }
        let dependencies = message.dependencies.compactMap { dependency -> DependencyRecord? in
            guard let parent = messages[dependency.parent]?.task else { return nil }
            return DependencyRecord(Dependency(on: parent.task, need: dependency.need), state: dependency.state)
        }
        return TaskRecord(
            name: place.task, sequence: message.sequence, queue: message.queue, state: message.state,
            reason: message.reason, dependencies: dependencies, result: withResult ? message.result : nil)
    }
}
