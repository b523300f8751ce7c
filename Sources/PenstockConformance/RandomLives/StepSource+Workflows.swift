import PenstockCore
import PenstockTestKit

/// Workflows, steps and events. There are few names, so that they meet.
extension StepSource {
    func workflowName() -> WorkflowName { WorkflowName(stored: "flow \(number(1, 12))") }

    func event() -> EventName { EventName(stored: "event \(number(1, 2))") }

    func step() -> StepName { StepName(stored: "step \(number(1, 3))") }

    func target(_ last: Int) -> EventTarget {
        if random.chance(0.5) { return .workflow(workflowName()) }
        return .message(SequenceNumber(Int64(max(1, last - number(-1, 15)))))
    }

    func workflow() -> NewWorkflow {
        NewWorkflow(random.chance(0.8) ? workflowName() : nil, tasks: tasks(count: number(1, 7)))
    }

    func finish(by handle: Int, _ leaseCount: Int) -> Step {
        let added = random.chance(0.4) ? AddedTasks(tasks(count: number(1, 3)), isAwaited: random.chance(0.6)) : nil
        return .finish(
            by: handle, lease: leases(leaseCount).first ?? -1, result: random.chance(0.5) ? [UInt8(number(0, 9))] : nil,
            added, drafts())
    }

    private func drafts() -> [Draft] {
        if random.chance(0.6) { return [] }
        return (0..<number(1, 5)).map { _ in
            let due: Due = random.chance(0.8) ? .now : .after(.microseconds(number(0, 12_000_000)))
            let message = NewMessage(
                payload: [UInt8(number(0, 255))], priority: random.chance(0.2) ? number(-2, 2) : 0, due: due,
                group: group(), expiry: expiry(due))
            return Draft(message, to: random.pick(Self.queues) ?? Self.queues[0])
        }
    }

    /// Any graph in which tasks wait for some of those before them.
    private func tasks(count: Int) -> [NewTask] {
        let prefix = number(1, 99)
        let names = (0..<count).map { TaskName(stored: "task \(prefix)-\($0)") }
        return names.enumerated().map { index, name in
            let parents = names.prefix(index).filter { _ in random.chance(0.4) }
            let due: Due = random.chance(0.8) ? .now : .after(.microseconds(number(0, 12_000_000)))
            return NewTask(
                name, queue: random.pick(Self.queues) ?? Self.queues[0],
                message: NewMessage(
                    payload: [], priority: random.chance(0.2) ? number(-2, 2) : 0, due: due,
                    attemptsMax: random.chance(0.3) ? number(1, 2) : nil, group: group(), expiry: expiry(due)),
                dependencies: parents.map { parent in
                    switch number(0, 5) {
                    case 0: Dependency(on: parent, need: .ended)
                    case 1: Dependency(on: parent, need: .done(whenDead: .hold))
                    default: Dependency(on: parent)
                    }
                })
        }
    }
}
