internal import PenstockCore
internal import Synchronization

/// How a source that feeds a log came to its end.
package enum LogEnding: Sendable {
    /// It has nothing more to give.
    case finished
    /// It failed by itself.
    case failed(any Error)
    /// What it gave could not be written.
    case broken(any Error)
}

/// What the subscribers of one log in one process share: the lock around the state machine, and the one task that reads
/// the log on for all of them while there are any, and runs what feeds it.
final class LogHub<Value: Sendable>: Sendable {
    typealias Machine = LogHubStateMachine<Value, Consumer>
    typealias Consumer = CheckedContinuation<Answer, Never>

    /// What a subscriber that comes for more is told.
    enum Answer: Sendable {
        case items([LogItem<Value>])
        /// Read the log, and come again.
        case behind
        case end((any Error)?)
    }

    private struct State {
        var machine: Machine
        /// Runs while there are subscribers. It is awaited before the next one does anything.
        var task: Task<Void, Never>?
    }

    /// `nil` for a log that is nowhere but in memory.
    let access: LogAccess<Value>?
    private let source: (@Sendable () async -> LogEnding)?
    private let state: Mutex<State>

    /// - Parameter source: feeds the log while there are subscribers; ends early when its task is cancelled.
    init(_ access: LogAccess<Value>, source: (@Sendable () async -> LogEnding)? = nil) {
        self.access = access
        self.source = source
        state = Mutex(State(machine: Machine()))
    }

    /// A log that is nowhere but in memory.
    init(tail: LogTail<Value>) {
        access = nil
        source = nil
        state = Mutex(State(machine: Machine(tail: tail)))
    }

    var subscriberCount: Int { state.withLock { $0.machine.subscriberCount } }

    /// The tail as it is now.
    var tail: LogTail<Value>? { state.withLock { $0.machine.tail } }

    func join(at place: LogPlace) -> Machine.Name {
        var name: Machine.Name = 0
        perform { machine in
            let joined = machine.join(at: place)
            name = joined.name
            return joined.actions
        }
        return name
    }

    func next(
        of name: Machine.Name, after sequence: SequenceNumber, isolation: isolated (any Actor)?
    ) async -> Answer {
        await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { consumer in
                perform { $0.next(consumer, of: name, after: sequence) }
            }
        } onCancel: {
            leave(name)
        }
    }

    func leave(_ name: Machine.Name) {
        perform { $0.leave(name) }
    }

    /// Returns when nothing runs any more for subscribers that have left.
    func waitForRest(isolation: isolated (any Actor)?) async {
        let task = state.withLock { $0.machine.subscriberCount == 0 ? $0.task : nil }
        await task?.value
    }

    /// Adds to a log that is nowhere but in memory.
    func publish(_ make: (LogPlace) -> LogItem<Value>) {
        perform { machine in
            guard let reach = machine.tail?.reach else { return [] }
            let item = make(reach)
            return machine.extend([item], reach: LogPlace(sequence: item.sequence, ordinal: item.ordinal))
        }
    }

    /// Ends a log that is nowhere but in memory.
    func finish() {
        perform { $0.complete(nil) }
    }

    func changeTail(_ change: (inout LogTail<Value>) -> Void) {
        state.withLock { $0.machine.changeTail(change) }
    }

    /// Tells the machine of an event, and does what it says.
    private func perform(_ event: (inout Machine) -> [Machine.Action]) {
        let (actions, task) = state.withLock { state in
            // Of before the event: that is the one to cancel.
            let task = state.task
            let actions = event(&state.machine)
            // Inside the lock, so that whoever stops it next finds the task.
            if actions.contains(where: { if case .start = $0 { true } else { false } }) {
                state.task = Task {
                    await task?.value
                    await self.run()
                }
            }
            return (actions, task)
        }
        for action in actions {
            switch action {
            case .start: break
            case .stop: task?.cancel()
            case .give(let items, let consumer): consumer.resume(returning: .items(items))
            case .sendBack(let consumer): consumer.resume(returning: .behind)
            case .end(let consumer, let failure): consumer.resume(returning: .end(failure))
            }
        }
    }

    private func run() async {
        guard let access else { return }
        do {
            switch try await firstEnd(access) {
            case .finished: perform { $0.complete(nil) }
            case .failed(let error): perform { $0.complete(error) }
            case .broken(let error): perform { $0.fail(error) }
            case nil: break
            }
        } catch {
            // The caller that cancelled the task has taken care of the subscribers.
            if !Task.isCancelled { perform { $0.fail(error) } }
        }
    }

    /// Runs reading and source side by side until one of them ends, and then what the subscribers must still have.
    ///
    /// - Returns: `nil` when the task was cancelled.
    private func firstEnd(_ access: LogAccess<Value>) async throws -> LogEnding? {
        let ending = try await withThrowingTaskGroup(of: LogEnding?.self) { group in
            group.addTask { try await self.follow(access) }
            if let source { group.addTask { await source() } }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        if Task.isCancelled { return nil }
        // What the source gave last may not have been read yet.
        if source != nil { while try await !readOn(access).isAtEnd {} }
        return ending
    }

    /// Reads the log on until it ends for good, or the task is cancelled.
    private func follow(_ access: LogAccess<Value>) async throws -> LogEnding? {
        while true {
            try Task.checkCancellation()
            // The token comes before the look, so that a ring in between is not lost.
            let token = access.storage.changes.token(for: access.name)
            let read = try await readOn(access)
            if read.isAtEnd, let end = read.end { return RecordedFailure.ending(of: end) }
            if read.isAtEnd { try await access.handle.waitForChange(of: access.name, after: token) }
        }
    }

    private func readOn(_ access: LogAccess<Value>) async throws -> (isAtEnd: Bool, end: CursorRecord?) {
        guard let reach = tail?.reach else { throw CancellationError() }
        let (stretch, end) = try await access.read(from: reach)
        perform { $0.extend(stretch.items, reach: stretch.reach) }
        return (stretch.isAtEnd, end)
    }
}
