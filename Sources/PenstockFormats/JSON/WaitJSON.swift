package import PenstockCore

extension WaitReason {
    /// What the message waits for as JSON: the message as `list` has it, who has it, and the causes.
    package var json: JSONValue {
        guard case .object(let members) = message.json(withAttempts: false) else { return .null }
        return .object(
            members + [
                .init(key: "holder", value: .optional(holder, \.json)),
                .init(key: "causes", value: .array(causes.map(\.json))),
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
        func cause(_ name: String, _ members: [JSONValue.Member] = []) -> JSONValue {
            .object([.init(key: "cause", value: .string(name))] + members)
        }
        func count(_ found: WaitReason.Count) -> [JSONValue.Member] {
            [.init(key: "count", value: .integer(found.count)), .init(key: "isMore", value: .bool(found.isMore))]
        }
        func limit(_ count: Int, _ leased: Int) -> [JSONValue.Member] {
            [.init(key: "count", value: .integer(count)), .init(key: "leased", value: .integer(leased))]
        }
        func opens(_ moment: Timestamp?) -> [JSONValue.Member] {
            [.init(key: "opens", value: .optional(moment, JSONValue.time))]
        }
        return switch self {
        case .due(let due, let delay):
            cause("due", [.init(key: "due", value: .time(due)), .init(key: "delay", value: .string(delay.rawValue))])
        case .event(let event): cause("event", [.init(key: "event", value: .string(event.text))])
        case .task(let other): cause("task", [.init(key: "message", value: other.json)])
        case .moreTasks: cause("moreTasks")
        case .untold: cause("untold")
        case .groupPaused: cause("groupPaused")
        case .permit(let other): cause("permit", [.init(key: "message", value: other.json)])
        case .morePermits: cause("morePermits")
        case .before(let found): cause("before", count(found))
        case .groupHeld(let until): cause("groupHeld", [.init(key: "until", value: .time(until))])
        case .groupRate(let moment): cause("groupRate", opens(moment))
        case .policyChange: cause("policyChange")
        case .queueDeleting: cause("queueDeleting")
        case .queuePaused: cause("queuePaused")
        case .limit(let count, let leased): cause("limit", limit(count, leased))
        case .sharedLimit(let name, let count, let leased):
            cause("sharedLimit", [.init(key: "limit", value: .string(name.text))] + limit(count, leased))
        case .rate(let moment): cause("rate", opens(moment))
        case .ahead(let found): cause("ahead", count(found))
        case .noWorker: cause("noWorker")
        }
    }
}
