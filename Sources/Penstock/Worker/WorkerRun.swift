internal import Logging
internal import Metrics
internal import PenstockCore
internal import ServiceLifecycle
internal import Synchronization

/// One run of a worker, from the first claim until the last handler has ended.
final class WorkerRun<Element: Sendable>: Sendable {
    let queue: Queue<Element>
    let options: Worker<Element>.Options
    private let handler: Worker<Element>.Handler
    let holder: LeaseHolder
    let slots: HandlerSlots
    let alarm: Alarm
    /// Opens when nothing more is to be claimed.
    let stopping = Latch()
    /// Why claiming ended, if it was an error.
    private let failure = Mutex<(any Error)?>(nil)

    var handle: StoreHandle { queue.handle }
    var time: any TimeSource { handle.time }
    var inFlight: InFlight { holder.inFlight }

    init(queue: Queue<Element>, options: Worker<Element>.Options, handler: @escaping Worker<Element>.Handler) {
        self.queue = queue
        self.options = options
        self.handler = handler
        let slots = HandlerSlots(concurrency: options.concurrency, ahead: options.ahead)
        self.slots = slots
        alarm = Alarm(queue.handle.time) { slots.touch() }
        holder = LeaseHolder(queue, lease: options.lease)
    }

    /// Ends the claiming. What runs may go on for the time of grace.
    func stop() {
        stopping.open()
        // What waits for a place is given back.
        slots.touch()
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [holder] in await LeaseKeeper(holder: holder, onlyOfRuns: false).run() }
            group.addTask { await self.dismissAfterGrace() }
            group.addTask { await Pruner(handle: self.handle).run(until: self.stopping) }
            await withTaskCancellationHandler {
                await manage()
            } onCancel: {
                dismiss()
                stop()
            }
            alarm.stop()
            group.cancelAll()
        }
        // A handler may leave between the moment it is given up and the moment its message is handed in for that.
        try? await settle(slots.take(at: time.boot, wantsAll: true).finished)
        try Task.checkCancellation()
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    /// Waits for nobody any more: handlers are cancelled, and what the store does not take now is not handed in again.
    private func dismiss() {
        inFlight.dismiss()
        slots.touch()
    }

    private func dismissAfterGrace() async {
        do {
            try await stopping.wait()
            try await time.sleep(for: options.grace)
            handle.logger.warning("grace is over; handlers are cancelled", metadata: ["queue": "\(queue.name)"])
            dismiss()
        } catch {
            // Cancelled: the handlers ended within the grace, or the worker is cancelled, which ends them as well.
        }
    }

    /// Ends the claiming because of `error`, which no later try can help.
    func fail(_ error: any Error) {
        // What a cancelled worker meets is no failure of its claims.
        if Task.isCancelled { return }
        failure.withLock { $0 = error }
        handle.logger.error(
            "claiming failed; the worker stops", metadata: ["queue": "\(queue.name)", "error": "\(error)"])
        stop()
    }

    // MARK: Working

    /// Begins with a message that has a place, or with the next one if its lease was lost while it waited.
    func begin(_ message: ClaimedMessage) {
        var next: ClaimedMessage? = message
        while let message = next {
            let run = HandlerRun(message.lease) { [self] end in ended(message, end) }
            // Each runs in a task that can be cancelled alone. None outlives the worker: it waits until all have left.
            if inFlight.begin(run) { return run.begin { await self.work(on: message, run) } }
            next = slots.leave(after: nil)
        }
    }

    /// Called when a run ends before its handler does.
    private func ended(_ message: ClaimedMessage, _ end: HandlerEnd) {
        switch end {
        case .timedOut:
            // The handler may need a moment to leave things in order. Its message comes back after that, or when the
            // lease ends, whichever is first.
            inFlight.setExtended(false, message.lease)
        case .leaseLost:
            inFlight.remove(message.lease)
            queue.metrics.leaseLost.increment()
            handle.logger.warning(
                "lease lost; the handler was cancelled, and its result is ignored", metadata: holder.metadata(message))
        default:
            // It is given up: others can have its message at once.
            slots.handIn(HandlerSlots.Finished(message: message, verdict: .release))
        }
    }

    private func work(on message: ClaimedMessage, _ run: HandlerRun) async {
        let began = time.boot
        let end: HandlerEnd
        if let timeout = options.timeout {
            end = await withTaskGroup(of: Void.self) { group in
                group.addTask { [time] in
                    if (try? await time.sleep(for: timeout)) != nil { run.end(.timedOut(timeout)) }
                }
                defer { group.cancelAll() }
                return run.left(await handle(message))
            }
        } else {
            end = run.left(await handle(message))
        }
        inFlight.endRun(run)
        var finished: HandlerSlots.Finished?
        // What was given up was handed in then.
        if case .givenUp = end {} else { finished = end.verdict.map { .init(message: message, verdict: $0) } }
        if let next = slots.leave(finished, after: .microseconds(time.boot.microseconds - began.microseconds)) {
            begin(next)
        }
    }

    private func handle(_ message: ClaimedMessage) async -> HandlerEnd {
        let delivery: Delivery<Element>
        do {
            delivery = try queue.decoded(message, by: holder)
        } catch {
            return .undecodable(error)
        }
        // What comes of the worker's own end does not count: the run was given up before its task was cancelled.
        if Task.isCancelled { return .failed(CancellationError()) }
        let metrics = queue.metrics
        let began = time.boot
        metrics.running.increment()
        defer {
            metrics.running.decrement()
            metrics.work.recordMicroseconds(time.boot.microseconds - began.microseconds)
        }
        do {
            try await handler(delivery)
            return .finished
        } catch {
            return .failed(error)
        }
    }
}
