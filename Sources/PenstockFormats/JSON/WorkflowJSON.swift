package import PenstockCore

extension WorkflowRecord {
    /// The workflow as JSON, without its tasks.
    package var json: JSONValue { .object(members) }

    /// The workflow as JSON with its tasks.
    package func json(tasks: [TaskRecord]) -> JSONValue {
        .object(members + [.init(key: "tasks", value: .array(tasks.map(\.json)))])
    }

    private var members: [JSONValue.Member] {
        [
            .init(key: "workflow", value: .string(name.text)),
            .init(key: "state", value: .string(state.rawValue)),
            .init(key: "startedAt", value: .time(startedAt)),
            .init(key: "cancelledAt", value: .optional(cancelledAt, JSONValue.time)),
            .init(
                key: "counts",
                value: .object(
                    MessageState.allCases.map {
                        JSONValue.Member(key: $0.rawValue, value: .integer(counts[$0, default: 0]))
                    })),
        ]
    }
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
        var members: [JSONValue.Member] = [.init(key: "task", value: .string(dependency.task.text))]
        switch dependency.need {
        case .done(let whenDead):
            members.append(.init(key: "need", value: .string("done")))
            members.append(.init(key: "whenDead", value: .string(whenDead.rawValue)))
        case .ended: members.append(.init(key: "need", value: .string("ended")))
        }
        members.append(.init(key: "state", value: .string(state.rawValue)))
        return .object(members)
    }
}
