package import PenstockCore

extension WaitReason {
    /// What the message waits for as JSON: the message as `list` has it, who has it, and the causes.
    package var json: JSONValue {
        message.json(withAttempts: false).adding([
            "holder": .optional(holder, \.json), "causes": .array(causes.map(\.json)),
        ])
    }
}

extension WaitReason.Holder {
    fileprivate var json: JSONValue {
        .object([
            "worker": .integer(worker), "name": .string(name), "isAlive": .optional(isAlive) { .bool($0) },
        ])
    }
}

extension WaitReason.Other {
    fileprivate var json: JSONValue {
        .object([
            "sequence": .integer(sequence.rawValue), "state": .string(state.rawValue),
            "task": .optional(task) { .string($0.text) }, "due": .optional(due, JSONValue.time),
            "holder": .optional(holder, \.json),
        ])
    }
}

extension WaitReason.Cause {
    /// An object whose `cause` says what the others are.
    fileprivate var json: JSONValue {
        func cause(_ name: String, _ members: KeyValuePairs<String, JSONValue> = [:]) -> JSONValue {
            JSONValue.object(["cause": .string(name)]).adding(members)
        }
        func count(_ found: WaitReason.Count) -> KeyValuePairs<String, JSONValue> {
            ["count": .integer(found.count), "isMore": .bool(found.isMore)]
        }
        return switch self {
        case .due(let due, let delay): cause("due", ["due": .time(due), "delay": .string(delay.rawValue)])
        case .event(let event): cause("event", ["event": .string(event.text)])
        case .task(let other): cause("task", ["message": other.json])
        case .moreTasks: cause("moreTasks")
        case .untold: cause("untold")
        case .groupPaused: cause("groupPaused")
        case .permit(let other): cause("permit", ["message": other.json])
        case .morePermits: cause("morePermits")
        case .before(let found): cause("before", count(found))
        case .groupHeld(let until): cause("groupHeld", ["until": .time(until)])
        case .groupRate(let moment): cause("groupRate", ["opens": .optional(moment, JSONValue.time)])
        case .policyChange: cause("policyChange")
        case .queueDeleting: cause("queueDeleting")
        case .queuePaused: cause("queuePaused")
        case .limit(let count, let leased):
            cause("limit", ["count": .integer(count), "leased": .integer(leased)])
        case .sharedLimit(let name, let count, let leased):
            cause(
                "sharedLimit", ["limit": .string(name.text), "count": .integer(count), "leased": .integer(leased)])
        case .rate(let moment): cause("rate", ["opens": .optional(moment, JSONValue.time)])
        case .ahead(let found): cause("ahead", count(found))
        case .noWorker: cause("noWorker")
        }
    }
}
