/// What a shared replay does, as a value: a replay, and the one subscription upstream that feeds it.
///
/// A puller is the loop that reads upstream; it suspends while a subscriber has no room.
///
/// ```
/// idle --next--> running --last leaves--> stopping --upstreamEnded--> idle, or running when somebody wants more
///                   \-------------------upstreamEnded---------------> over
/// ```
@usableFromInline
struct ShareReplayStateMachine<
    Element: Sendable, Failure: Error, Consumer: Sendable, Puller: Sendable
>: Sendable {
    @usableFromInline typealias Replay = ReplayStateMachine<Element, Failure, Consumer, Puller>
    @usableFromInline typealias Name = Replay.Name

    /// What the caller is to do.
    @usableFromInline enum Action: Sendable {
        /// Begin to read upstream.
        case start
        /// Cancel the task that reads upstream.
        case cancel
        /// Tell the puller that nobody wants more of it.
        case stop(Puller)
        /// Do what the replay says. Its senders are pullers.
        case replay(Replay.Action)
    }

    @usableFromInline enum Phase: Sendable {
        /// Upstream is not read, and can be.
        case idle
        case running
        /// Upstream is cancelled, and may still run.
        case stopping
        /// Upstream has finished or failed.
        case over
    }

    @usableFromInline var phase = Phase.idle
    @usableFromInline var replay: Replay
    /// Names the one sending that there is at a time.
    @usableFromInline let sending: Name
    /// Those who left last, and are told so when upstream has ended.
    @usableFromInline var leaving: [Consumer] = []
    /// Whether somebody wants more while upstream is still stopping.
    @usableFromInline var isWanted = false

    @inlinable init(remembering memoryMax: Int, backlog: ReplayBacklog<Failure>) {
        replay = Replay(remembering: memoryMax, backlog: backlog)
        sending = replay.newName()
    }

    /// How many subscriptions there are.
    @inlinable var subscriberCount: Int { replay.subscriberCount }

    /// Somebody subscribes, and is to get what is remembered first.
    @inlinable mutating func subscribe() -> Name {
        replay.subscribe()
    }

    /// A subscriber asks for elements that it will come for.
    @inlinable mutating func request(_ count: Int, by name: Name) -> [Action] {
        replay.request(count, by: name).map { .replay($0) }
    }

    /// A subscriber comes for an element.
    @inlinable mutating func next(_ consumer: Consumer, of name: Name) -> [Action] {
        guard replay.isSubscribed(name) || phase != .stopping else {
            leaving.append(consumer)
            return []
        }
        let isSubscribed = replay.isSubscribed(name)
        let actions = replay.next(consumer, of: name).map { Action.replay($0) }
        switch phase {
        case .idle where isSubscribed:
            phase = .running
            return [.start] + actions
        case .stopping:
            isWanted = true
            return actions
        case .idle, .running, .over:
            return actions
        }
    }

    /// Upstream gave an element. The puller suspends until every subscriber that must have it has room.
    @inlinable mutating func arrived(_ element: Element, _ puller: Puller) -> [Action] {
        guard phase == .running else { return [.stop(puller)] }
        return replay.send(element, as: sending, puller).map { .replay($0) }
    }

    /// Upstream has ended, and no task runs any more.
    @inlinable mutating func upstreamEnded(_ completion: Completion<Failure>) -> [Action] {
        guard phase == .stopping else {
            phase = .over
            return replay.complete(completion).map { .replay($0) }
        }
        defer {
            leaving = []
            isWanted = false
        }
        let isWanted = isWanted && replay.subscriberCount > 0
        phase = isWanted ? .running : .idle
        return (isWanted ? [.start] : []) + leaving.map { .replay(.end($0, nil)) }
    }

    /// A subscriber was cancelled, or let its iterator go. The last one takes upstream with it.
    @inlinable mutating func leave(_ name: Name) -> [Action] {
        guard replay.isSubscribed(name) else { return [] }
        // Before its place in the backlog is free, which would send what the puller has.
        let isLast = phase == .running && replay.subscriberCount == 1
        var actions: [Action] = []
        if isLast {
            phase = .stopping
            actions = [.cancel] + replay.withdraw(sending).map { .replay($0) }
        }
        let (left, consumer) = replay.leave(name)
        actions += left.map { .replay($0) }
        guard let consumer else { return actions }
        guard phase == .stopping else { return actions + [.replay(.end(consumer, nil))] }
        leaving.append(consumer)
        return actions
    }
}

extension ShareReplayStateMachine.Action: Equatable
where Element: Equatable, Failure: Equatable, Consumer: Equatable, Puller: Equatable {}
