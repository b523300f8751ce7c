import Synchronization

/// A message that a process of a command that stays is to be given, as that process reads it.
struct Job: Sendable {
    fileprivate let id: Int
    let bytes: [UInt8]
}

/// The messages that wait for a process, and the processes that wait for a message.
final class Jobs: Sendable {
    /// What came of a message.
    enum Reply: Sendable {
        case answered(Answer)
        /// The process that had it has ended.
        case died(Coprocess.Life)
        /// No process had it, or nobody wants to know any more.
        case unworked(StopRequest.Cause)
        /// There can be no process.
        case failed(Failure)
    }

    struct Place: Hashable, Sendable {
        fileprivate let id: Int
    }

    private struct Process {
        var dialogue: Dialogue?
        /// Set while it waits for a message.
        var waiter: CheckedContinuation<Job?, Never>?
        var job: Int?
    }

    private struct State {
        var lastID = 0
        var waiting: [Job] = []
        var replies: [Int: CheckedContinuation<Reply, Never>] = [:]
        /// Messages that processes have, and whose answers nobody wants any more.
        var abandoned: Set<Int> = []
        var processes: [Int: Process] = [:]
        /// The processes that wait for a message, the one that has had one last at the end.
        var idle: [Int] = []
        /// No message comes any more.
        var isOver = false
        /// Processes may answer what they have, and are given nothing more.
        var isDraining = false
        var stopCause: StopRequest.Cause?
        var failure: Failure?

        var refusal: Reply? {
            failure.map(Reply.failed) ?? (stopCause ?? (isDraining ? .grace : nil)).map(Reply.unworked)
        }

        mutating func takeIdle() -> [CheckedContinuation<Job?, Never>] {
            defer { idle = [] }
            return idle.compactMap { processes[$0]?.waiter.take() }
        }

        mutating func number() -> Int {
            lastID += 1
            return lastID
        }
    }

    private let state = Mutex(State())

    // MARK: Messages

    /// Has a process answer `bytes`. When the calling task is cancelled, the process that has them is stopped.
    func ask(_ bytes: [UInt8]) async -> Reply {
        let id = state.withLock { $0.number() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { reply in
                let job = Job(id: id, bytes: bytes)
                let (refusal, process) = state.withLock { state -> (Reply?, CheckedContinuation<Job?, Never>?) in
                    if let refusal = state.refusal { return (refusal, nil) }
                    if Task.isCancelled { return (.unworked(.cancelled), nil) }
                    state.replies[id] = reply
                    guard let place = state.idle.popLast() else {
                        state.waiting.append(job)
                        return (nil, nil)
                    }
                    state.processes[place]?.job = id
                    return (nil, state.processes[place]?.waiter.take())
                }
                if let refusal { reply.resume(returning: refusal) }
                process?.resume(returning: job)
            }
        } onCancel: {
            abandon(id)
        }
    }

    private func abandon(_ id: Int) {
        let (reply, dialogue) = state.withLock { state -> (CheckedContinuation<Reply, Never>?, Dialogue?) in
            if let index = state.waiting.firstIndex(where: { $0.id == id }) {
                state.waiting.remove(at: index)
                return (state.replies.removeValue(forKey: id), nil)
            }
            if state.replies[id] != nil { state.abandoned.insert(id) }
            return (nil, state.processes.values.first { $0.job == id }?.dialogue)
        }
        reply?.resume(returning: .unworked(.cancelled))
        dialogue?.end(.stopped(.cancelled))
    }

    func finish(_ job: Job, _ reply: Reply) {
        let asker = state.withLock { state in
            state.abandoned.remove(job.id)
            return state.replies.removeValue(forKey: job.id)
        }
        asker?.resume(returning: reply)
    }

    /// A message that nobody has read waits for another process, before all others.
    func putBack(_ job: Job) {
        let (reply, refusal, next) = state.withLock {
            state -> (CheckedContinuation<Reply, Never>?, Reply?, CheckedContinuation<Job?, Never>?) in
            for id in state.processes.keys where state.processes[id]?.job == job.id { state.processes[id]?.job = nil }
            let isAbandoned = state.abandoned.remove(job.id) != nil
            if let refusal = state.refusal ?? (isAbandoned ? .unworked(.cancelled) : nil) {
                return (state.replies.removeValue(forKey: job.id), refusal, nil)
            }
            guard let place = state.idle.popLast() else {
                state.waiting.insert(job, at: 0)
                return (nil, nil, nil)
            }
            state.processes[place]?.job = job.id
            return (nil, nil, state.processes[place]?.waiter.take())
        }
        if let refusal { reply?.resume(returning: refusal) }
        next?.resume(returning: job)
    }

    // MARK: Processes

    /// A place for a process that is about to start.
    func join() -> Place {
        state.withLock { state in
            let id = state.number()
            state.processes[id] = Process()
            return Place(id: id)
        }
    }

    /// The process at `place` is spoken to by `dialogue`, which is ended with all others.
    func attend(_ place: Place, _ dialogue: Dialogue) {
        let cause = state.withLock { state in
            state.processes[place.id]?.dialogue = dialogue
            return state.stopCause
        }
        if let cause { dialogue.end(.stopped(cause)) }
    }

    /// The next message for the process; `nil` when there is none any more, or the process has left.
    func next(at place: Place) async -> Job? {
        await withCheckedContinuation { waiter in
            let job: Job?? = state.withLock { state in
                guard state.processes[place.id] != nil, state.refusal == nil else { return .some(nil) }
                state.processes[place.id]?.job = nil
                if !state.waiting.isEmpty {
                    let job = state.waiting.removeFirst()
                    state.processes[place.id]?.job = job.id
                    return job
                }
                if state.isOver { return .some(nil) }
                state.processes[place.id]?.waiter = waiter
                state.idle.append(place.id)
                return .none
            }
            if let job { waiter.resume(returning: job) }
        }
    }

    /// The process is given no further message.
    func leave(_ place: Place) {
        let waiter = state.withLock { state in
            state.idle.removeAll { $0 == place.id }
            return state.processes.removeValue(forKey: place.id)?.waiter
        }
        waiter?.resume(returning: nil)
    }

    // MARK: The end

    /// No message comes any more: processes that wait for one are not needed.
    func close() {
        let waiters = state.withLock { state in
            state.isOver = true
            return state.takeIdle()
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }

    /// Lets processes answer what they have. What waits for one is given back, and so is what nobody has read; none is started for it.
    func drain() { end(.unworked(.grace)) { $0.isDraining = true } }

    /// Stops every process, and gives back what waits for one.
    func stop(_ cause: StopRequest.Cause) {
        end(.unworked(cause)) { $0.stopCause = cause }
        let dialogues = state.withLock { $0.processes.values.compactMap(\.dialogue) }
        for dialogue in dialogues { dialogue.end(.stopped(cause)) }
    }

    /// There can be no process any more: what waits for one, and what comes, is told so.
    func fail(_ failure: Failure) { end(.failed(failure)) { $0.failure = $0.failure ?? failure } }

    private func end(_ reply: Reply, _ note: (inout State) -> Void) {
        let (replies, waiters) = state.withLock { state in
            note(&state)
            let replies = state.waiting.compactMap { state.replies.removeValue(forKey: $0.id) }
            state.waiting = []
            return (replies, state.takeIdle())
        }
        for continuation in replies { continuation.resume(returning: reply) }
        for waiter in waiters { waiter.resume(returning: nil) }
    }

    /// Whether processes are still to be started.
    var isOpen: Bool { state.withLock { !$0.isOver && $0.refusal == nil || !$0.waiting.isEmpty } }
}
