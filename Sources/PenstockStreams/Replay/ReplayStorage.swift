public import Synchronization

/// What a replay and its subscribers share: the lock around the core, and the task that reads upstream if there is one.
@usableFromInline final class ReplayStorage<Element: Sendable, Failure: Error>: Sendable {
    /// Resumed with whether the element was sent.
    @usableFromInline typealias Sender = CheckedContinuation<Bool, Never>
    @usableFromInline typealias Consumer = StreamConsumer<Element, Failure>
    @usableFromInline typealias Core = ReplayCore<Element, Failure, Consumer, Sender>
    @usableFromInline typealias Name = Int
    @usableFromInline typealias Word = ReplayWord<Element, Failure>

    @usableFromInline struct State {
        @usableFromInline var core: Core
        @usableFromInline var upstream: ReplayUpstream<Consumer>

        @inlinable init(core: Core, upstream: ReplayUpstream<Consumer>) {
            self.core = core
            self.upstream = upstream
        }
    }

    @usableFromInline let onDrop: @Sendable (Element) -> Void
    /// Reads upstream to its end, and sends what comes.
    @usableFromInline let read: (@Sendable (ReplayStorage) async -> Completion<Failure>)?
    @usableFromInline let state: Mutex<State>

    @inlinable init(
        bufferSize: Int, backlog: ReplayBacklog<Failure>, onDrop: @escaping @Sendable (Element) -> Void = { _ in },
        read: (@Sendable (ReplayStorage) async -> Completion<Failure>)? = nil
    ) {
        self.onDrop = onDrop
        self.read = read
        let core = Core(bufferSize: bufferSize, backlog: backlog)
        state = Mutex(State(core: core, upstream: read == nil ? .over : .idle))
    }

    @inlinable var subscriberCount: Int { state.withLock { $0.core.subscriberCount } }

    @inlinable func subscribe() -> Name {
        state.withLock { $0.core.subscribe() }
    }

    @inlinable func request(_ count: Int, by name: Name) {
        perform { $0.request(count, by: name) }
    }

    @inlinable func send(_ element: Element) async throws(CancellationError) {
        if Task.isCancelled { throw CancellationError() }
        guard case .noRoom = offer(element) else { return }
        let name = state.withLock { $0.core.newName() }
        let isSent = await withTaskCancellationHandler {
            await withCheckedContinuation { sender in
                // Inside the lock, so that a sender that is cancelled before it does not stand in line.
                let sending = perform { Task.isCancelled ? .refused : $0.send(element, sender, as: name) }
                tell(sender, sending)
            }
        } onCancel: {
            perform { $0.withdraw(name) }?.sender.resume(returning: false)
        }
        if !isSent, Task.isCancelled { throw CancellationError() }
    }

    @discardableResult
    @inlinable func offer(_ element: Element) -> Core.Sending {
        perform { $0.offer(element) }
    }

    @inlinable func complete(_ completion: Completion<Failure>) {
        perform { $0.complete(completion) }
    }

    /// Tells a sender what came of sending, unless it stands in line.
    @inlinable func tell(_ sender: Sender, _ sending: Core.Sending) {
        switch sending {
        case .noRoom: break
        case .sent: sender.resume(returning: true)
        case .refused: sender.resume(returning: false)
        }
    }

    @inlinable func tell(_ consumer: Consumer, _ word: Word) {
        switch word {
        case .give(let element): consumer.resume(returning: .success(element))
        case .end(let failure): consumer.end(failure)
        case .cut(let failure):
            stopUnheard()
            consumer.end(failure())
        }
    }

    /// Tells the core of an event, and does what there is to do after it.
    @inlinable @discardableResult func perform<Result: Sendable>(_ event: (inout Core) -> Result) -> Result {
        let (result, step) = state.withLock { state in (event(&state.core), state.core.next()) }
        go(step)
        return result
    }

    /// Does a step, and those that follow.
    @inlinable func go(_ first: Core.Step?) {
        var next = first
        while let step = next {
            switch step {
            case .tell(let consumer, let word, _): tell(consumer, word)
            case .admitted(let sender, _): sender.resume(returning: true)
            case .drop(let element): onDrop(element)
            }
            next = state.withLock { $0.core.next() }
        }
    }
}
