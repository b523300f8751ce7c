internal import DequeModule
internal import Penstock

/// One subscription to a settling flatMap: the lock around the machine, between upstream, the inner publishers and one
/// subscriber.
// Its state is behind a lock, and the subscriber is told one thing at a time.
final class SettlingConduit<Output, Input: Settleable>: Subscriber, Subscription, @unchecked Sendable {
    typealias Element = Input.Payload
    typealias Failure = any Error
    typealias Machine = SettlingMachine<Output>
    typealias Name = Machine.Name

    /// What belongs to a delivery while it is worked on.
    private struct Work {
        let run: HandlerRun
        var subscription: (any Subscription)?
    }

    private struct State: UpstreamHolder {
        var machine: Machine
        var turns = Turns<Machine.Step>()
        var downstream: AnySubscriber<Output, any Error>?
        var upstream = UpstreamSubscription()
        var works: [Name: Work] = [:]
        /// The tasks that extend leases, one for each reader whose deliveries are worked on, by their numbers.
        var keepers: [Int: Task<Void, Never>] = [:]
        var keeperCount = 0
    }

    private let state: Guarded<State>
    /// Makes the work on a payload and subscribes to it.
    private let work: (Element, SettlingConduit, Name) -> Void
    private let settler = LeaseSettler<Element>()
    private let executor = StreamExecutor.current

    init<Child: Publisher>(
        _ downstream: AnySubscriber<Output, any Error>, maxPublishers: Subscribers.Demand,
        transform: @escaping (Element) -> Child
    ) where Child.Output == Output {
        state = Guarded(State(machine: Machine(maxConcurrent: maxPublishers.count), downstream: downstream))
        work = { transform($0).subscribe(Side<Child.Failure>(name: $2, conduit: $1)) }
    }

    // MARK: Upstream

    func receive(subscription: any Subscription) {
        let downstream = state.withLock { state -> AnySubscriber<Output, any Error>? in
            guard state.upstream.begin(subscription) else { return nil }
            state.turns.begin()
            return state.downstream
        }
        guard let downstream else { return subscription.cancel() }
        downstream.receive(subscription: self)
        tellAll()
        perform { ([], $0.machine.askUpstream()) }
    }

    func receive(_ input: Input) -> Subscribers.Demand {
        // What it was given all the same goes back in line.
        state.cancelForAnother()
        let delivery = input.delivery
        let (run, keepLeases, hasLease) = settler.begin(delivery)
        let name = state.withLock { state -> Name? in
            guard let name = state.machine.arrived() else { return nil }
            state.works[name] = Work(run: run)
            if let keepLeases {
                state.keeperCount += 1
                let number = state.keeperCount
                state.keepers[number] = Task(executorPreference: executor) { [weak self] in
                    await keepLeases()
                    self?.keeperEnded(number)
                }
            }
            return name
        }
        Task(executorPreference: executor) {
            let end = await self.settler.ended(delivery, run)
            if end.isFromOutside, let name { self.perform { $0.machine.workEnded(end, name) } }
            let outcome = await self.settler.settle(delivery, end, of: run)
            if let name { self.settled(name, outcome) }
        }
        guard let name else {
            run.end(.givenUp)
            return .none
        }
        if hasLease, !run.isOver { work(delivery.payload, self, name) }
        return .none
    }

    func receive(completion: Subscribers.Completion<any Error>) {
        let upstream = state.withLock { $0.upstream.end() }
        perform { $0.machine.ended(completion) }
        withExtendedLifetime(upstream) {}
    }

    // MARK: Downstream

    func request(_ demand: Subscribers.Demand) {
        perform { ($0.machine.request(demand.count), []) }
    }

    func cancel() {
        let downstream = state.withLock { $0.downstream.take() }
        var forgotten: Deque<Machine.Step> = []
        perform { state in
            forgotten = state.turns.forget()
            return ([], state.machine.cancelled())
        }
        closeKeepers()
        withExtendedLifetime((downstream, forgotten)) {}
    }

    // MARK: The works

    private func workBegan(_ name: Name, _ subscription: any Subscription) {
        let subscription = OneCallAtATime(subscription)
        let isWanted = state.withLock { state in
            guard state.works[name] != nil, state.works[name]?.subscription == nil else { return false }
            state.works[name]?.subscription = subscription
            return true
        }
        guard isWanted else { return subscription.cancel() }
        subscription.request(.max(1))
    }

    private func workGave(_ value: Output, _ name: Name) {
        perform { ($0.machine.workGave(value, name), []) }
    }

    private func workEnded(_ end: HandlerEnd, _ name: Name) {
        let subscription = state.withLock { $0.works[name]?.subscription.take() }
        perform { $0.machine.workEnded(end, name) }
        withExtendedLifetime(subscription) {}
    }

    private func settled(_ name: Name, _ outcome: SettleOutcome) {
        if case .unsettled(let error) = outcome { perform { $0.machine.ended(.failure(error)) } }
        perform { $0.machine.settled(name) }
    }

    private struct Side<Failure: Error>: Subscriber {
        typealias Input = Output

        let combineIdentifier = CombineIdentifier()
        let name: Name
        let conduit: SettlingConduit

        func receive(subscription: any Subscription) {
            conduit.workBegan(name, subscription)
        }

        func receive(_ input: Output) -> Subscribers.Demand {
            conduit.workGave(input, name)
            return .none
        }

        func receive(completion: Subscribers.Completion<Failure>) {
            switch completion {
            case .finished: conduit.workEnded(.finished, name)
            case .failure(let error): conduit.workEnded(.failed(error), name)
            }
        }
    }

    // MARK: -

    private func perform(_ event: (inout State) -> (steps: [Machine.Step], actions: [Machine.Action])) {
        let (mustTell, actions) = state.withLock { state in
            let (steps, actions) = event(&state)
            return (state.turns.take(steps), actions)
        }
        if mustTell { tellAll() }
        for action in actions { carryOut(action) }
    }

    /// Says what there is to say, for the thread that has the turn.
    private func tellAll() {
        while let step = state.withLock({ $0.turns.next() }) { tell(step) }
    }

    private func tell(_ step: Machine.Step) {
        switch step {
        case .give(let value, let name):
            guard let downstream = state.withLock({ $0.downstream }) else { return }
            let more = downstream.receive(value).count
            // This thread has the turn, and goes on with what that adds.
            perform { state in
                let asked = state.machine.request(more)
                let (steps, actions) = state.machine.said(name)
                return (asked + steps, actions)
            }
        case .end(let completion):
            closeKeepers()
            state.withLock { $0.downstream.take() }?.receive(completion: completion)
        }
    }

    private func carryOut(_ action: Machine.Action) {
        switch action {
        case .askUpstream(let count):
            state.ask(Subscribers.Demand(count: count))
        case .askWork(let name):
            state.withLock { $0.works[name]?.subscription }?.request(.max(1))
        case .settle(let name, let end):
            state.withLock { $0.works.removeValue(forKey: name) }?.run.end(end)
        case .giveUp(let name):
            let work = state.withLock { $0.works.removeValue(forKey: name) }
            work?.subscription?.cancel()
            work?.run.end(.givenUp)
        case .cancelUpstream:
            state.cancelUpstream()
        case .letGo:
            break
        }
    }

    private func keeperEnded(_ number: Int) {
        state.withLock { $0.keepers[number] = nil }
    }

    private func closeKeepers() {
        let keepers = state.withLock { state in
            defer { state.keepers = [:] }
            return Array(state.keepers.values)
        }
        for keeper in keepers { keeper.cancel() }
    }
}
