internal import PenstockCore
internal import Synchronization

/// What feeds a log while it has subscribers.
package struct LogInflow: Sendable {
    /// Called when the first subscriber has come, by the one that brings it.
    let begin: @Sendable () -> Void
    /// Called when the last one has left, by the one that takes it away.
    let cancel: @Sendable () -> Void
    /// Returns when there is nothing more to come, and everything that came is in the log; early when its task is
    /// cancelled.
    let run: @Sendable () async -> LogEnding

    /// Makes something that has not begun.
    package init(
        begin: @escaping @Sendable () -> Void = {}, cancel: @escaping @Sendable () -> Void = {},
        run: @escaping @Sendable () async -> LogEnding
    ) {
        self.begin = begin
        self.cancel = cancel
        self.run = run
    }
}

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
        case items(ArraySlice<LogItem<Value>>)
        /// Read the log, and come again.
        case behind
        case end((any Error)?)
    }

    private struct State {
        var machine: Machine
        /// Runs while there are subscribers. It is awaited before the next one does anything.
        var task: Task<Void, Never>?
        /// What it feeds the log from.
        var inflow: LogInflow?
    }

    /// `nil` for a log that is nowhere but in memory.
    let access: LogAccess<Value>?
    private let source: (@Sendable () -> LogInflow)?
    private let state: Mutex<State>

    /// - Parameter source: makes what feeds the log, each time that there are subscribers again.
    init(_ access: LogAccess<Value>, source: (@Sendable () -> LogInflow)? = nil) {
        self.access = access
        self.source = source
        // A page goes to all subscribers as it was read.
        state = Mutex(State(machine: Machine(portionMax: LogAccess<Value>.pageCountMax)))
    }

    /// A log that is nowhere but in memory.
    init(tail: LogTail<Value>) {
        access = nil
        source = nil
        state = Mutex(State(machine: Machine(tail: tail)))
    }

    var subscriberCount: Int { state.withLock { $0.machine.subscriberCount } }

    var tail: LogTail<Value>? { state.withLock { $0.machine.tail } }

    /// A subscriber comes that has read the log up to `place`, or does not know yet how far.
    ///
    /// - Returns: also what the caller must call next, outside of any lock.
    func join(at place: LogPlace?) -> (name: Machine.Name, begin: @Sendable () -> Void) {
        state.withLock { state in
            let (name, begun) = state.machine.join(at: place)
            guard let run = begun else { return (name, {}) }
            let (before, old, inflow) = (state.task, state.inflow, source?())
            state.inflow = inflow
            // Inside the lock, so that a thread that stops it next finds the task.
            state.task = Task {
                await before?.value
                await self.run(run, inflow)
            }
            return (
                name,
                {
                    // The thread that took the last subscriber away may not have come to that yet.
                    old?.cancel()
                    inflow?.begin()
                }
            )
        }
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
            return machine.extend([item], reach: item.place, by: nil)
        }
    }

    /// Ends a log that is nowhere but in memory.
    func finish() {
        perform { $0.complete(nil, by: nil) }
    }

    /// Changes how much of a log in memory is kept.
    ///
    /// - Returns: what went, for the caller to let go of when no lock is held.
    func changeTail(_ change: (inout LogTail<Value>) -> Void) -> LogTail<Value>.Spent? {
        state.withLock { state in
            state.machine.changeTail(change)
            return state.machine.takeSpent().pages
        }
    }

    private func perform(_ event: (inout Machine) -> [Machine.Action]) {
        let (actions, spent, task, inflow) = state.withLock { state in
            (event(&state.machine), state.machine.takeSpent(), state.task, state.inflow)
        }
        for action in actions {
            switch action {
            case .stop:
                task?.cancel()
                inflow?.cancel()
            case .give(let items, let consumer): consumer.resume(returning: .items(items))
            case .sendBack(let consumer): consumer.resume(returning: .behind)
            case .end(let consumer, let failure): consumer.resume(returning: .end(failure))
            }
        }
        withExtendedLifetime(spent) {}
    }

    private func run(_ run: Machine.Run, _ inflow: LogInflow?) async {
        guard let access else { return }
        do {
            switch try await firstEnd(access, run, inflow) {
            case .finished: perform { $0.complete(nil, by: run) }
            case .failed(let error): perform { $0.complete(error, by: run) }
            case .broken(let error): perform { $0.fail(error, by: run) }
            case nil: break
            }
        } catch {
            perform { $0.fail(error, by: run) }
        }
    }

    /// Runs reading and source side by side until one of them ends, and then what the subscribers must still have.
    ///
    /// - Returns: `nil` when the task was cancelled.
    private func firstEnd(
        _ access: LogAccess<Value>, _ run: Machine.Run, _ inflow: LogInflow?
    ) async throws -> LogEnding? {
        let ending = try await withThrowingTaskGroup(of: LogEnding?.self) { group in
            group.addTask { try await self.follow(access, run) }
            if let inflow { group.addTask { await inflow.run() } }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        // What the source gave last may not have been read yet.
        var isAtEnd = inflow == nil
        while !Task.isCancelled, !isAtEnd { isAtEnd = try await readOn(access, run).isAtEnd }
        return Task.isCancelled ? nil : ending
    }

    /// Reads the log on until it ends for good, or the task is cancelled.
    private func follow(_ access: LogAccess<Value>, _ run: Machine.Run) async throws -> LogEnding? {
        var move = MoveWatch()
        while true {
            try Task.checkCancellation()
            // The token comes before the look, so that a ring in between is not lost.
            let token = access.storage.changes.token(for: access.name)
            let read = try await readOn(access, run)
            if read.isAtEnd, let end = read.end { return RecordedFailure.ending(of: end) }
            if !read.isEmpty { move.foundNews() }
            guard read.isAtEnd, try await move.mayWait(in: access.name, access.storage) else { continue }
            try await access.handle.waitForChange(of: access.name, after: token)
        }
    }

    private func readOn(
        _ access: LogAccess<Value>, _ run: Machine.Run
    ) async throws -> (isAtEnd: Bool, isEmpty: Bool, end: CursorRecord?) {
        if tail == nil {
            let place = try await access.end()
            perform { $0.begin(at: place, by: run) }
        }
        // Subscribers that came after this run have a tail of their own.
        guard let reach = state.withLock({ $0.machine.running == run ? $0.machine.tail?.reach : nil }) else {
            throw CancellationError()
        }
        let (stretch, end) = try await access.read(from: reach)
        perform { $0.extend(stretch.items, reach: stretch.reach, by: run) }
        return (stretch.isAtEnd, stretch.items.isEmpty, end)
    }
}
