public import Synchronization

/// The one reading of upstream that feeds a shared replay.
///
/// ```
/// idle --next--> running --last leaves--> stopping --it has ended--> idle, or running when a subscriber wants more
///                   \-----------------it has ended-----------------> over
/// ```
@usableFromInline enum ReplayUpstream<Consumer: Sendable>: Sendable {
    case idle
    case running(UpstreamTask)
    /// It is cancelled, and may still run. Those who left last are told so when it has ended.
    case stopping(leaving: [Consumer], isWanted: Bool)
    /// It has finished or failed, or there is none: elements are sent by hand.
    case over
}

extension ReplayStorage {
    /// A subscriber comes for an element. The first one begins the reading of upstream.
    @inlinable func come(_ name: Name, _ consumer: Consumer?) -> Word? {
        let (word, step, task) = state.withLock { state -> (Word?, Core.Step?, UpstreamTask?) in
            let isSubscribed = state.core.isSubscribed(name)
            var task: UpstreamTask?
            switch state.upstream {
            case .idle where isSubscribed: task = newTask(&state)
            case .stopping(let leaving, _) where isSubscribed:
                state.upstream = .stopping(leaving: leaving, isWanted: true)
            case .stopping(let leaving, let isWanted):
                if let consumer { state.upstream = .stopping(leaving: leaving + [consumer], isWanted: isWanted) }
                return (nil, nil, nil)
            case .idle, .running, .over: break
            }
            return (state.core.come(name, consumer), state.core.next(), task)
        }
        if let task { begin(task) }
        go(step)
        return word
    }

    /// Inside the lock, so that a thread that cancels next finds the task.
    ///
    /// - Returns: what is to begin outside of it; `nil`: there is no upstream.
    @inlinable func newTask(_ state: inout State) -> UpstreamTask? {
        if read == nil { return nil }
        let task = UpstreamTask()
        state.upstream = .running(task)
        return task
    }

    @inlinable func begin(_ task: UpstreamTask) {
        guard let read else { return }
        task.begin {
            let completion = await read(self)
            self.upstreamEnded(completion)
        }
    }

    /// No task reads upstream any more.
    @inlinable func upstreamEnded(_ completion: Completion<Failure>) {
        let (leaving, step, task) = state.withLock { state -> ([Consumer], Core.Step?, UpstreamTask?) in
            guard case .stopping(let leaving, let isWanted) = state.upstream else {
                state.upstream = .over
                state.core.complete(completion)
                return ([], state.core.next(), nil)
            }
            state.upstream = .idle
            return (leaving, nil, isWanted && state.core.subscriberCount > 0 ? newTask(&state) : nil)
        }
        if let task { begin(task) }
        go(step)
        for consumer in leaving { tell(consumer, .end(nil)) }
    }

    /// Hands on an element of upstream, and suspends while a subscriber has no room. Returns whether to go on.
    @inlinable func pass(_ element: Element) async -> Bool {
        switch arrived(element, { $0.offer(element) }) {
        case .sent: return true
        case .refused: return false
        case .noRoom: break
        }
        return await withCheckedContinuation { puller in
            tell(puller, arrived(element, { $0.send(element, puller) }))
        }
    }

    /// An element of an upstream that is cancelled counts no more.
    @inlinable func arrived(_ element: Element, _ send: (inout Core) -> Core.Sending) -> Core.Sending {
        let (sending, step) = state.withLock { state -> (Core.Sending, Core.Step?) in
            guard case .running = state.upstream else { return (.refused, nil) }
            return (send(&state.core), state.core.next())
        }
        go(step)
        return sending
    }

    /// A subscriber was cancelled, or let its iterator go. The last one takes upstream with it.
    @inlinable func leave(_ name: Name) {
        let (task, line, left, step) = state.withLock { state in
            var last: UpstreamTask?
            var line: [Core.InLine] = []
            if case .running(let task) = state.upstream, state.core.isOnlySubscriber(name) {
                last = task
                // Before its place in the backlog is free, which would send what the puller has.
                line = state.core.takeLine()
                state.upstream = .stopping(leaving: [], isWanted: false)
            }
            return (last, line, state.core.leave(name), state.core.next())
        }
        task?.cancel()
        for puller in line { puller.sender.resume(returning: false) }
        go(step)
        if let consumer = left?.listener { end(consumer) }
    }

    /// Cancels upstream when its last subscriber was cut off for falling behind: nobody is left who could leave.
    @inlinable func stopUnheard() {
        let task = state.withLock { state -> UpstreamTask? in
            guard case .running(let task) = state.upstream, state.core.subscriberCount == 0 else { return nil }
            state.upstream = .stopping(leaving: [], isWanted: false)
            return task
        }
        task?.cancel()
    }

    /// Tells a consumer that has left so, when upstream does not stop any more.
    @inlinable func end(_ consumer: Consumer) {
        let waits = state.withLock { state in
            guard case .stopping(let leaving, let isWanted) = state.upstream else { return false }
            state.upstream = .stopping(leaving: leaving + [consumer], isWanted: isWanted)
            return true
        }
        if !waits { tell(consumer, .end(nil)) }
    }
}
