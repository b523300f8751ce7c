import PenstockCore

/// One thing that somebody does in a random life of a store. Handles and leases are named by number, so that one step
/// can be carried out on two stores, whose handles and tokens differ.
enum Step: CustomStringConvertible {
    case enqueue(by: Int, QueueName, [NewMessage])
    case claim(by: Int, QueueName, limit: Int, lease: Duration, for: WorkerName?)
    case settle(by: Int, [(lease: Int, verdict: Verdict)])
    case finish(by: Int, lease: Int, result: [UInt8]?, AddedTasks?, [Draft])
    case start(by: Int, NewWorkflow)
    case cancelWorkflow(by: Int, WorkflowName)
    case record(by: Int, StepName, lease: Int)
    case emit(by: Int, EventName, EventTarget)
    case extend(by: Int, leases: [Int], Duration)
    case expectEnd(by: Int, SequenceNumber)
    case reclaim(by: Int)
    case crash(Int)
    case close(Int)
    case configure(by: Int, QueueName, QueueChange)
    case setLimit(by: Int, LimitName, Int)
    case apply(by: Int, LineCommand, Selection)
    case prune(by: Int, PruneRequest)
    case query(by: Int, MessageQuery)
    case append(by: Int, QueueName, [NewMessage])
    case readLog(by: Int, LogQuery)
    case moveCursor(by: Int, CursorName, QueueName, CursorMove)
    case pass(Duration)
    case setWallClock(by: Duration)

    var description: String {
        switch self {
        case .enqueue(let handle, let queue, let messages):
            "[\(handle)] enqueue to \(queue): " + messages.map(Self.describe).joined(separator: ", ")
        case .claim(let handle, let queue, let limit, let lease, let remote):
            "[\(handle)] claim \(limit) of \(queue) for \(lease)\(remote.map { ", by \($0)" } ?? "")"
        case .settle(let handle, let verdicts): "[\(handle)] settle \(verdicts)"
        case .finish(let handle, let lease, let result, let added, let drafts):
            "[\(handle)] finish \(lease) with \(String(describing: result)) and \(Self.describe(added?.tasks ?? [])), then "
                + drafts.map { "\($0.queue) \(Self.describe($0.message))" }.joined(separator: ", ")
        case .start(let handle, let workflow):
            "[\(handle)] start \(workflow.name?.text ?? ""): \(Self.describe(workflow.tasks))"
        case .cancelWorkflow(let handle, let name): "[\(handle)] cancel \(name)"
        case .record(let handle, let step, let lease): "[\(handle)] record \(step) of \(lease)"
        case .emit(let handle, let event, let target): "[\(handle)] emit \(event) to \(target)"
        case .extend(let handle, let leases, let duration): "[\(handle)] extend \(leases) by \(duration)"
        case .expectEnd(let handle, let sequence): "[\(handle)] expect the end of \(sequence)"
        case .reclaim(let handle): "[\(handle)] reclaim"
        case .crash(let handle): "[\(handle)] crash"
        case .close(let handle): "[\(handle)] close"
        case .setLimit(let handle, let name, let count): "[\(handle)] limit \(name) to \(count)"
        case .configure(let handle, let queue, let change): "[\(handle)] configure \(queue): \(change)"
        case .apply(let handle, let command, let selection): "[\(handle)] \(command) \(selection)"
        case .prune(let handle, let request): "[\(handle)] prune \(request)"
        case .query(let handle, let query): "[\(handle)] query \(query)"
        case .append(let handle, let queue, let messages): "[\(handle)] append \(messages.count) to \(queue)"
        case .readLog(let handle, let query): "[\(handle)] read \(query)"
        case .moveCursor(let handle, let cursor, let queue, let move): "[\(handle)] \(cursor) of \(queue): \(move)"
        case .pass(let duration): "\(duration) pass"
        case .setWallClock(let jump): "the wall clock jumps by \(jump)"
        }
    }

    private static func describe(_ tasks: [NewTask]) -> String {
        tasks.map { task in
            let parents = task.dependencies.map { "\($0.task) \($0.need)" }
            return "\(task.name) in \(task.queue) after \(parents) \(describe(task.message))"
        }.joined(separator: ", ")
    }

    private static func describe(_ message: NewMessage) -> String {
        let key = message.uniqueKey.map { " key \($0.key) \($0.scope) \($0.onConflict) \($0.waitMax ?? .zero)" } ?? ""
        let group = message.group.map { " \($0)" } ?? ""
        let expiry = message.expiry.map { " expires \($0)" } ?? ""
        return "(priority \(message.priority), \(message.due)\(key)\(group)\(expiry))"
    }
}
