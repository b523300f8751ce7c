package import PenstockCore

extension WorkflowRecord {
    /// The workflow as JSON, without its tasks.
    package var json: JSONValue {
        .object([
            "workflow": .string(name.text),
            "state": .string(state.rawValue),
            "startedAt": .time(startedAt),
            "cancelledAt": .optional(cancelledAt, JSONValue.time),
            "counts": .object(
                MessageState.allCases.map {
                    JSONValue.Member(key: $0.rawValue, value: .integer(counts[$0, default: 0]))
                }),
        ])
    }

    package func json(tasks: [TaskRecord]) -> JSONValue { json.adding(["tasks": .array(tasks.map(\.json))]) }
}

extension JSONValue {
    /// What a start of a workflow has made or found, with its tasks in the order of the log.
    package static func started(_ name: WorkflowName, isNew: Bool, _ receipts: [TaskName: Receipt]) -> JSONValue {
        .object([
            "workflow": .string(name.text), "isNew": .bool(isNew),
            "tasks": .array(
                receipts.sorted { $0.value.sequence < $1.value.sequence }.map { name, receipt in
                    .object([
                        "task": .string(name.text), "sequence": .integer(receipt.sequence.rawValue),
                        "state": .optional(receipt.state) { .string($0.rawValue) },
                    ])
                }),
        ])
    }

    /// What a cancellation of a workflow has done.
    package static func cancelled(_ name: WorkflowName, _ count: Int) -> JSONValue {
        .object(["workflow": .string(name.text), "cancelled": .integer(count)])
    }
}

extension TaskRecord {
    /// The task as JSON, without its result.
    package var json: JSONValue {
        .object([
            "task": .string(name.text),
            "sequence": .integer(sequence.rawValue),
            "queue": .string(queue.text),
            "state": .string(state.rawValue),
            "reason": .optional(reason) { .string($0.rawValue) },
            "after": .array(dependencies.map(\.json)),
        ])
    }
}

extension DependencyRecord {
    /// The dependency as JSON, in the words of a file for `workflow run`.
    fileprivate var json: JSONValue {
        let task = JSONValue.object(["task": .string(dependency.task.text)])
        let need: JSONValue =
            switch dependency.need {
            case .done(let whenDead):
                task.adding(["need": .string("done"), "whenDead": .string(whenDead.rawValue)])
            case .ended: task.adding(["need": .string("ended")])
            }
        return need.adding(["state": .string(state.rawValue)])
    }
}
