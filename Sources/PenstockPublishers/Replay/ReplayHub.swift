public import Dispatch
public import PenstockStreams

/// What a replay subject, or a shared replay, and its subscribers have in common: the lock around the core.
///
/// What is sent to many is made for their one type where the subject is made: Combine calls its types by tables, in
/// which everything generic stays so.
@usableFromInline final class ReplayHub<Output, Failure: Error> {
    /// A sender that stands in line with a value.
    @usableFromInline enum Sender {
        /// A thread that waits.
        case thread(DispatchSemaphore)
        /// The reader of upstream, which is to ask for another one.
        case reader(ReplayReader<Output, Failure>)
        /// A thread that cannot wait, as it would wait for itself.
        case nobody
    }

    @usableFromInline typealias Core = ReplayCore<Output, Failure, ReplayListener<Output, Failure>, Sender>

    @usableFromInline struct State {
        @usableFromInline var core: Core
        /// What reads upstream, when this is a shared replay that is subscribed to.
        @usableFromInline var reader: ReplayReader<Output, Failure>?
        /// The threads that speak to a subscriber now, when there are senders that wait.
        @usableFromInline var speakers: [ThreadName: Int] = [:]

        @inlinable init(core: Core) { self.core = core }
    }

    @usableFromInline let state: Guarded<State>
    /// How many values may wait for a subscriber, if senders wait then.
    @usableFromInline let waitsAt: Int?
    @usableFromInline let onDrop: (Output) -> Void

    @inlinable init(bufferSize: Int, backlog: ReplayBacklog<Failure>, onDrop: @escaping (Output) -> Void) {
        waitsAt = backlog.waitsAt
        self.onDrop = onDrop
        state = Guarded(State(core: Core(bufferSize: bufferSize, backlog: backlog)))
    }

    @inlinable var subscriberCount: Int { state.withLock { $0.core.subscriberCount } }

    /// Greets a subscriber. Nobody else speaks to it before that has returned.
    @inlinable func subscribe(_ listener: ReplayListener<Output, Failure>) {
        let name = state.withLock { $0.core.subscribe(asksInAdvance: true) }
        greet(listener, name)
    }

    @inlinable func greet(_ listener: ReplayListener<Output, Failure>, _ name: Int) {
        if waitsAt != nil { speaks(1) }
        listener.subscriber.receive(
            subscription: ConduitSubscription(
                request: { demand in self.perform { $0.core.request(demand.count, by: name) } },
                cancel: { self.leave(name) }))
        if waitsAt != nil { speaks(-1) }
        go(state.withLock { self.next(for: listener, name, 0, &$0) })
    }

    /// Sends a value. With a backlog that makes senders wait this thread waits for room, unless it speaks to a subscriber:
    /// it would wait for itself.
    @inlinable func send(_ value: Output) {
        guard case .noRoom = perform({ $0.core.offer(value) }) else { return }
        let semaphore = DispatchSemaphore(value: 0)
        let thread = currentThread
        let waits = perform { state in
            let speaks = state.speakers[thread] != nil
            let sending = state.core.send(value, speaks ? .nobody : .thread(semaphore))
            if case .noRoom = sending { return !speaks }
            return false
        }
        if waits { semaphore.wait() }
    }

    @inlinable func complete(_ completion: Subscribers.Completion<Failure>) {
        perform { $0.core.complete(Completion(completion)) }
    }

    /// Ends a subscription. The last one takes the reading of upstream with it.
    @inlinable func leave(_ name: Int) {
        // What these hold is let go here, where no lock is held: it may hold what cancels.
        let (reader, line, left) = perform { state in
            let reader = state.core.isOnlySubscriber(name) ? state.reader.take() : nil
            // Before its place in the backlog is free, which would send what upstream was not to send any more.
            let line = reader != nil ? state.core.takeLine() : nil
            return (reader, line, state.core.leave(name))
        }
        reader?.cancel()
        withExtendedLifetime((line, left)) {}
    }

    /// Tells the core of an event, and does what there is to do after it.
    @discardableResult
    @inlinable func perform<Result>(_ event: (inout State) -> Result) -> Result {
        let (result, step) = state.withLock { state in (event(&state), state.core.next()) }
        go(step)
        return result
    }

    /// Does a step, and those that follow.
    @inlinable func go(_ first: Core.Step?) {
        guard first != nil else { return }
        if waitsAt != nil { speaks(1) }
        var next = first
        while let step = next.take() {
            switch step {
            case .tell(let listener, .give(let value), let name):
                let more = listener.subscriber.receive(value).count
                next = state.withLock { self.next(for: listener, name, more, &$0) }
                continue
            case .tell(let listener, .end(let failure), _):
                // The last one lets go of what has read upstream, which holds this.
                withExtendedLifetime(state.withLock { $0.core.subscriberCount == 0 ? $0.reader.take() : nil }) {}
                listener.subscriber.receive(completion: .init(failure: failure))
            case .tell(let listener, .cut(let failure), _):
                // The last one takes the reading of upstream with it, as if it had left.
                state.withLock { $0.core.subscriberCount == 0 ? $0.reader.take() : nil }?.cancel()
                listener.subscriber.receive(completion: .failure(failure()))
            case .admitted(.thread(let semaphore), _): semaphore.signal()
            case .admitted(.reader(let reader), _): reader.ask(1)
            case .admitted(.nobody, _): break
            case .drop(let value): onDrop(value)
            }
            next = state.withLock { $0.core.next() }
        }
        if waitsAt != nil { speaks(-1) }
    }

    /// What comes after a subscriber was told something: it goes first.
    @inlinable func next(
        for listener: ReplayListener<Output, Failure>, _ name: Int, _ asked: Int, _ state: inout State
    ) -> Core.Step? {
        guard state.core.isSubscribed(name) else { return state.core.next() }
        return state.core.come(name, listener, asking: asked).map { .tell(listener, $0, name) } ?? state.core.next()
    }

    @usableFromInline var currentThread: ThreadName { .current }

    @usableFromInline func speaks(_ count: Int) {
        let thread = currentThread
        state.withLock { state in
            let depth = state.speakers[thread, default: 0] + count
            state.speakers[thread] = depth == 0 ? nil : depth
        }
    }
}

/// A subscriber, in one place.
@usableFromInline final class ReplayListener<Input, Failure: Error> {
    @usableFromInline let subscriber: any Subscriber<Input, Failure>

    @inlinable init(_ subscriber: any Subscriber<Input, Failure>) { self.subscriber = subscriber }
}
