internal import Dispatch
internal import Foundation
internal import PenstockStreams

/// What a replay subject, or a shared replay, and its subscribers have in common: the lock around the machine.
final class ReplayHub<Output, Failure: Error> {
    /// A sender that stands in line with a value.
    enum Sender {
        /// A thread that waits.
        case thread(DispatchSemaphore)
        /// A subscription that is to be asked for another one.
        case upstream(any Subscription)
        /// One who cannot wait, as it would wait for itself.
        case nobody
    }

    typealias Listener = AnySubscriber<Output, Failure>
    typealias Machine = ReplayMachine<Output, Failure, Listener, Sender>

    struct State {
        var machine: Machine
        /// What reads upstream, when this is a shared replay that somebody subscribes to.
        var feed: (any ReplayFeed)?
        /// The threads that speak to a subscriber now.
        var speakers: [ObjectIdentifier: Int] = [:]
    }

    let state: Guarded<State>
    let backlog: ReplayBacklog<Failure>
    private let onDrop: (Output) -> Void

    init(remembering memoryMax: Int, backlog: ReplayBacklog<Failure>, onDrop: @escaping (Output) -> Void) {
        precondition(memoryMax >= 0, "A replay cannot remember fewer than no values.")
        self.backlog = backlog
        self.onDrop = onDrop
        state = Guarded(State(machine: Machine(remembering: memoryMax, backlog: backlog)))
    }

    var subscriberCount: Int { state.withLock { $0.machine.subscriberCount } }

    func subscribe(_ listener: Listener) {
        let name = state.withLock { $0.machine.subscribe(listener) }
        listener.receive(subscription: ReplaySubscription(self, name))
        // A completion without values before it needs no demand.
        request(0, by: name)
    }

    func request(_ count: Int, by name: Machine.Name) {
        perform { $0.machine.request(count, by: name) }
    }

    /// Sends a value, or stands in line with it for `sender`. Returns whether it was sent.
    func send(_ value: Output, _ sender: Sender) -> Bool {
        var isSent = true
        perform { state in
            let sending = state.machine.send(value, sender)
            isSent = sending.isSent
            return sending.outcome
        }
        return isSent
    }

    /// Sends a value and waits for room, unless this thread is speaking to a subscriber: it would wait for itself.
    func sendAndWait(_ value: Output) {
        let thread = ObjectIdentifier(Thread.current)
        guard state.withLock({ $0.speakers[thread] == nil }) else {
            _ = send(value, .nobody)
            return
        }
        let semaphore = DispatchSemaphore(value: 0)
        if !send(value, .thread(semaphore)) { semaphore.wait() }
    }

    func complete(_ completion: Subscribers.Completion<Failure>) {
        perform { $0.machine.complete(completion) }
    }

    /// Ends a subscription. The last one takes the reading of upstream with it.
    func leave(_ name: Machine.Name) {
        var listener: Listener?
        var feed: (any ReplayFeed)?
        perform { state in
            if state.feed != nil, state.machine.isOnlySubscriber(name) {
                feed = state.feed.take()
                // Before its place in the backlog is free, which would send what upstream was not to send any more.
                state.machine.forgetLine()
            }
            let left = state.machine.leave(name)
            listener = left.listener
            return left.outcome
        }
        feed?.cancel()
        // Let go here, where no lock is held: it may hold whoever cancels.
        withExtendedLifetime(listener) {}
    }

    /// Tells the machine of an event, and does what comes of it.
    func perform(_ event: (inout State) -> Machine.Outcome) {
        let outcome = state.withLock { event(&$0) }
        for sender in outcome.admitted {
            switch sender {
            case .thread(let semaphore): semaphore.signal()
            case .upstream(let subscription): subscription.request(.max(1))
            case .nobody: break
            }
        }
        for value in outcome.dropped { onDrop(value) }
        for name in outcome.toTell { tell(name) }
    }

    private func tell(_ name: Machine.Name) {
        let thread = ObjectIdentifier(Thread.current)
        state.withLock { $0.speakers[thread, default: 0] += 1 }
        while let (step, listener) = state.withLock({ $0.machine.next(of: name) }) {
            switch step {
            case .give(let value):
                let more = listener.receive(value).count
                if more > 0 { request(more, by: name) }
            case .end(let completion):
                listener.receive(completion: completion)
            case .cut:
                guard case .end(let error) = backlog.whenFull else { continue }
                listener.receive(completion: .failure(error()))
            }
        }
        state.withLock { state in
            let count = (state.speakers[thread] ?? 1) - 1
            state.speakers[thread] = count == 0 ? nil : count
        }
    }
}

extension ReplayMachine {
    /// Whether this is the subscription that is left.
    func isOnlySubscriber(_ name: Name) -> Bool { subscriberCount == 1 && isSubscribed(name) }
}

/// What reads upstream for a shared replay.
protocol ReplayFeed: AnyObject {
    func cancel()
}

/// One subscription to a replay.
final class ReplaySubscription<Output, Failure: Error>: Subscription {
    private let hub: ReplayHub<Output, Failure>
    private let name: ReplayHub<Output, Failure>.Machine.Name

    init(_ hub: ReplayHub<Output, Failure>, _ name: ReplayHub<Output, Failure>.Machine.Name) {
        self.hub = hub
        self.name = name
    }

    func request(_ demand: Subscribers.Demand) {
        hub.request(demand.count, by: name)
    }

    func cancel() {
        hub.leave(name)
    }
}
