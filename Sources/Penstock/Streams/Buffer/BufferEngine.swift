internal import Dispatch
internal import Logging
internal import PenstockCore
package import PenstockStreams
internal import Synchronization

/// One subscription to a buffer whose waiting values are messages of a queue: the lock around the state machine, and
/// the loop that calls the store. It knows no sequence and no publisher; those hand it what happens, in whatever order
/// and from whatever thread, and do what its outlets say.
///
/// Everything but ``run()`` returns at once.
@usableFromInline
package final class BufferEngine<Element: Sendable>: Sendable {
    /// Goes on with true, or stops with false.
    @usableFromInline package typealias Puller = @Sendable (_ goesOn: Bool) -> Void
    typealias Machine = DurableBufferStateMachine<NewMessage, Puller>

    /// What a subscription is told.
    @usableFromInline package struct Options: Sendable {
        /// How many values may wait, within `Limits.capacityRange`.
        package var size: Int
        /// How upstream is asked for values.
        package var prefetch: BufferPrefetch
        /// What happens to a value that finds the line full.
        package var whenFull: DurableOverflow
        /// How long a lease lasts unless it is extended.
        package var lease: Duration
        /// How much later each value, and the finish, is to come; `nil`: nothing is delayed.
        package var delay: Duration?

        /// Makes options.
        @usableFromInline package init(
            size: Int, prefetch: BufferPrefetch, whenFull: DurableOverflow, lease: Duration = .seconds(30),
            delay: Duration? = nil
        ) {
            self.size = size
            self.prefetch = prefetch
            self.whenFull = whenFull
            self.lease = lease
            self.delay = delay
        }
    }

    /// Where things go. All of these are called outside of any lock, and may call the engine.
    @usableFromInline package struct Outlets: Sendable {
        /// Asks upstream for so many values more; `Int.max`: without limit. Never before ``opened``.
        package var ask: @Sendable (Int) -> Void
        /// Gives deliveries to downstream, which has asked for them. Returns whether they were taken; what was not goes
        /// back in line at the end.
        package var give: @Sendable ([Delivery<Element>]) -> Bool
        /// Whether ``give`` runs code of the program, and is given one at a time.
        package var givesToCode: Bool
        package var cancelUpstream: @Sendable () -> Void
        /// The queue is ready, and from now on upstream is asked at once.
        package var opened: @Sendable () -> Void

        /// Makes outlets.
        @usableFromInline package init(
            ask: @escaping @Sendable (Int) -> Void,
            give: @escaping @Sendable ([Delivery<Element>]) -> Bool,
            givesToCode: Bool = false,
            cancelUpstream: @escaping @Sendable () -> Void,
            opened: @escaping @Sendable () -> Void = {}
        ) {
            self.ask = ask
            self.give = give
            self.givesToCode = givesToCode
            self.cancelUpstream = cancelUpstream
            self.opened = opened
        }
    }

    struct State {
        static var endedMin: Int { 1000 }

        var machine: Machine
        /// Whether the store loop has nothing to do, or only watches the queue.
        var isResting = true
        /// When the finish is due, once upstream has finished.
        var finishDue: Timestamp?
        /// Leases that have ended, by this process's clock, and of which the store has not said that they are lost.
        var ended: [Lease] = []
        /// Of how many of these the store is asked while the stream goes on.
        var endedMax = State.endedMin
        /// What downstream did not take.
        var refused: [Lease] = []
        var stillWaiters: [@Sendable () -> Void] = []
    }

    let queue: Queue<Element>
    let options: Options
    let outlets: Outlets
    let holder: LeaseHolder
    let unflushed = UnflushedValues()
    let state: Mutex<State>
    /// Rings when the store loop has something to do.
    let work = Wakeups()

    /// Makes a subscription that has not begun.
    @usableFromInline package init(queue: Queue<Element>, options: Options, outlets: Outlets) {
        self.queue = queue
        self.options = options
        self.outlets = outlets
        holder = LeaseHolder(queue, lease: options.lease)
        let rules = Machine.Rules(
            size: options.size, prefetch: options.prefetch, whenFull: options.whenFull.policy,
            givesLater: options.delay != nil)
        state = Mutex(State(machine: Machine(rules)))
    }

    /// Downstream asks for so many values more; `Int.max`: for any number.
    @usableFromInline package func request(_ count: Int) {
        perform { $0.request(count) }
    }

    /// Calls `puller` when upstream owes a value and there is room for it.
    @usableFromInline package func whenWanted(_ puller: @escaping Puller) {
        perform { $0.pullerAsks(puller) }
    }

    /// Whether upstream owes a value and there is room for it: then ``whenWanted(_:)`` would call at once.
    @usableFromInline package var isWanted: Bool { state.withLock { $0.machine.isWanted } }

    /// Upstream gave a value. Of several threads that each give some, each keeps its own order.
    @usableFromInline package func arrived(_ element: Element) {
        do {
            var message = try queue.codec.message(of: element)
            if let delay = options.delay { message.due = .at(queue.handle.time.now + delay) }
            perform { [message] in $0.arrived(message, bytes: message.payload.count) }
        } catch {
            perform { $0.failed(error) }
        }
    }

    /// Upstream has finished.
    @usableFromInline package func upstreamFinished() {
        state.withLock { [time = queue.handle.time] state in
            if let delay = options.delay { state.finishDue = time.now + delay }
        }
        perform { $0.upstreamFinished() }
    }

    /// Upstream failed.
    @usableFromInline package func upstreamFailed(_ failure: any Error) {
        perform { $0.failed(failure) }
    }

    /// Downstream wants no more. What it was given and hands back goes back in line.
    @usableFromInline package func cancel(handingBack deliveries: [Delivery<Element>] = []) {
        state.withLock { $0.refused += deliveries.map(\.lease) }
        perform { $0.cancel() }
    }

    /// Puts back in line what downstream was given before the end and does not want.
    @usableFromInline package func beginGiveBack(_ deliveries: [Delivery<Element>]) {
        let leases = deliveries.map(\.lease)
        for lease in leases { holder.inFlight.remove(lease) }
        queue.handle.beginRelease(leases)
    }

    /// Puts it back in line, and returns when that is done.
    @usableFromInline package func giveBack(_ deliveries: [Delivery<Element>]) async {
        await holder.giveBack(deliveries.map(\.lease))
    }

    /// Calls `body` when nothing is under way: all that befell until then is stored and given, and the store loop rests.
    package func whenStill(_ body: @escaping @Sendable () -> Void) {
        let isStill = state.withLock { state in
            if !state.isResting { state.stillWaiters.append(body) }
            return state.isResting
        }
        if isStill { body() }
    }

    /// Blocks the thread while as many values wait for the store as may be staged, for sources that cannot be suspended
    /// otherwise. The task that runs the engine must not need the thread.
    ///
    /// - Parameter wait: is given the wait to carry out.
    package func waitForStaging(_ wait: (() -> Void) -> Void) {
        let mustWait = state.withLock { state in
            state.machine.phase == .running && state.machine.owed > 0 && state.machine.operations.isFull
        }
        guard mustWait else { return }
        let isWanted = DispatchSemaphore(value: 0)
        perform { $0.stagerAsks { _ in isWanted.signal() } }
        wait { isWanted.wait() }
    }

    func perform(_ event: (inout Machine) -> [Machine.Action]) {
        let (actions, mustWake) = state.withLock { state in
            let actions = event(&state.machine)
            var mustWake = false
            if state.isResting, actions.contains(where: { if case .wake = $0 { true } else { false } }) {
                state.isResting = false
                mustWake = true
            }
            return (actions, mustWake)
        }
        if mustWake { work.ring(queue.name) }
        carryOut(actions)
    }

    /// Wakes the store loop for a verdict.
    func wake() {
        let mustWake = state.withLock { state in
            defer { state.isResting = false }
            return state.isResting
        }
        if mustWake { work.ring(queue.name) }
    }

    func carryOut(_ actions: [Machine.Action]) {
        for action in actions {
            switch action {
            case .ask(let count): outlets.ask(count)
            case .goOn(let puller): puller(true)
            case .stop(let puller): puller(false)
            case .cancelUpstream: outlets.cancelUpstream()
            case .lost(let count):
                queue.handle.logger.error(
                    "values of a stream not stored before its end",
                    metadata: ["queue": "\(queue.name)", "count": "\(count)"])
            case .wake: break
            }
        }
    }
}
