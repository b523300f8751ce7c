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
    let runs = HandlerRuns()
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
        holder = LeaseHolder(queue, lease: options.lease, forgetsEnded: false)
    }

    /// Ends the claiming. What runs may go on for the time of grace.
    func stop() {
        stopping.open()
        // What waits for a place is given back.
        slots.touch()
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            let keeper = LeaseKeeper(holder: holder, runs: runs)
            group.addTask { await keeper.run() }
            group.addTask { await self.dismissAfterGrace() }
            group.addTask { await Pruner(handle: self.handle).run() }
            await withTaskCancellationHandler {
                await manage()
            } onCancel: {
                dismiss()
                stop()
            }
            alarm.stop()
            group.cancelAll()
        }
        try Task.checkCancellation()
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    /// Waits for nobody any more: handlers are cancelled, and what the store does not take now is not handed in again.
    private func dismiss() {
        runs.dismiss()
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

    func begin(_ messages: [ClaimedMessage]) {
        for message in slots.begin(messages, at: time.boot) { begin(message) }
    }

    /// Begins with a message that has a place, or with the next one if its lease was lost while it waited.
    private func begin(_ message: ClaimedMessage) {
        var message = message
        while !inFlight.contains(message.lease) {
            guard let next = slots.leave(after: nil) else { return }
            message = next
        }
        // Each runs in a task that can be cancelled alone. None outlives the worker: it waits until all have left.
        let task = HandlerTask()
        let run = HandlerRun(message.lease) { [self, message] run, end in ended(run, message, task, end) }
        runs.add(run)
        task.begin { [message] in await self.work(on: message, run) }
    }

    /// Called once for each run, with the first reason for its end.
    private func ended(_ run: HandlerRun, _ message: ClaimedMessage, _ task: HandlerTask, _ end: HandlerEnd) {
        switch end {
        case .returned, .threw, .undecodable:
            // It is leaving, and hands in what it says.
            return
        case .timedOut:
            // The handler may need a moment to leave things in order. Its message comes back after that, or when the
            // lease ends, whichever is first.
            inFlight.setExtended(false, message.lease)
        case .givenUp:
            slots.handIn(HandlerSlots.Finished(message: message, verdict: .release))
        case .leaseLost:
            inFlight.remove(message.lease)
            queue.metrics.leaseLost.increment()
            handle.logger.warning(
                "lease lost; the handler was cancelled, and its result is ignored", metadata: metadata(message))
        }
        task.cancel()
    }

    private func work(on message: ClaimedMessage, _ run: HandlerRun) async {
        let began = time.boot
        if let timeout = options.timeout {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [time] in
                    if (try? await time.sleep(for: timeout)) != nil { run.end(.timedOut(timeout)) }
                }
                run.end(await handle(message))
                group.cancelAll()
            }
        } else {
            run.end(await handle(message))
        }
        runs.remove(run)
        let verdict: Verdict? =
            switch await run.ended() {
            case .givenUp, .leaseLost: nil
            case let end: end.verdict
            }
        let finished = verdict.map { HandlerSlots.Finished(message: message, verdict: $0) }
        if let next = slots.leave(finished, after: .microseconds(time.boot.microseconds - began.microseconds)) {
            begin(next)
        }
    }

    private func handle(_ message: ClaimedMessage) async -> HandlerEnd {
        let payload: Element
        do {
            payload = try queue.codec.decode(message.payload)
        } catch {
            handle.logger.warning(
                "payload cannot be decoded; the message is a dead letter",
                metadata: metadata(message, error: "\(error)"))
            return .undecodable(error)
        }
        if Task.isCancelled { return .givenUp }
        return await handle(Delivery(message, payload: payload, holder: holder))
    }

    private func handle(_ delivery: Delivery<Element>) async -> HandlerEnd {
        let metrics = queue.metrics
        let began = time.boot
        metrics.running.increment()
        defer {
            metrics.running.decrement()
            metrics.work.recordMicroseconds(time.boot.microseconds - began.microseconds)
        }
        do {
            try await handler(delivery)
            return .returned
        } catch {
            // Nobody is to blame for an error that comes of the worker's own end.
            return Task.isCancelled ? .givenUp : .threw(error)
        }
    }
}
