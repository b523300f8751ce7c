internal import Logging
internal import Metrics
internal import PenstockCore
internal import ServiceLifecycle
internal import Synchronization

/// One run of a worker, from the first claim until the last handler has ended.
final class WorkerRun<Element: Sendable>: Sendable {
    let order: QueueOrder
    let options: Worker<Element>.Options
    private let queues: [Queue<Element>]
    private let handler: Worker<Element>.Handler
    /// One for each queue.
    let holders: [LeaseHolder]
    let handle: StoreHandle
    let time: any TimeSource
    let inFlight: InFlight
    let slots: HandlerSlots
    let alarm: Alarm
    /// Opens when nothing more is to be claimed.
    let stopping = Latch()
    /// Why claiming ended, if it was an error.
    private let failure = Mutex<(any Error)?>(nil)

    /// The queues, as a log says them.
    var queueNames: String { holders.map(\.queue.text).joined(separator: ",") }

    /// - Parameter queues: those that it works, of one store; one at least.
    init(
        queues: [Queue<Element>], order: QueueOrder = .strict, options: Worker<Element>.Options,
        handler: @escaping Worker<Element>.Handler
    ) {
        self.order = order
        self.options = options
        self.queues = queues
        self.handler = handler
        holders = LeaseHolder.sharing(queues, lease: options.lease)
        handle = holders[0].handle
        time = handle.time
        inFlight = holders[0].inFlight
        let slots = HandlerSlots(concurrency: options.concurrency, ahead: options.ahead)
        self.slots = slots
        alarm = Alarm(time) { slots.touch() }
    }

    /// Ends the claiming. What runs may go on for the time of grace.
    func stop() {
        stopping.open()
        // What waits for a place is given back.
        slots.touch()
    }

    func run() async throws {
        let (notice, names) = (handle.deletionNotice, holders.map(\.queue))
        notice.begin(names)
        defer { notice.end(names) }
        // One that drains ends at once where nothing is ready, and is to say why.
        let look = options.drain ? notice.beginLook(at: names) : nil
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [holders] in await LeaseKeeper(holders: holders, onlyOfRuns: false).run() }
            group.addTask { await self.dismissAfterGrace() }
            group.addTask { await Upkeep(handle: self.handle).run(until: self.stopping) }
            await withTaskCancellationHandler(operation: { await manage() }) {
                dismiss()
                stop()
            }
            alarm.stop()
            group.cancelAll()
        }
        if let look { await notice.wait(for: look) }
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
            handle.logger.warning("grace is over; handlers are cancelled", metadata: ["queue": "\(queueNames)"])
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
            "claiming failed; the worker stops", metadata: ["queue": "\(queueNames)", "error": "\(error)"])
        stop()
    }

    // MARK: Working

    /// Begins with a message that has a place, or with the next one if its lease was lost while it waited.
    func begin(_ claimed: HandlerSlots.Claimed) {
        var next: HandlerSlots.Claimed? = claimed
        while let claimed = next {
            let run = HandlerRun(claimed.message.lease, leavesByItself: true) { [self] end in ended(claimed, end) }
            // Each runs in a task that can be cancelled alone. None outlives the worker: it waits until all have left.
            if inFlight.begin(run) { return run.begin { await self.work(on: claimed, run) } }
            next = slots.leave(after: nil)
        }
    }

    /// Called when a run ends before its handler does.
    private func ended(_ claimed: HandlerSlots.Claimed, _ end: HandlerEnd) {
        let (message, holder) = (claimed.message, holders[claimed.source])
        switch end {
        case .timedOut:
            // The handler may need a moment to leave things in order. Its message comes back after that, or when the
            // lease ends, whichever is first.
            inFlight.letEnd(message.lease)
        case .leaseLost:
            inFlight.remove(message.lease)
            holder.metrics.leaseLost.increment()
            handle.logger.warning(
                "lease lost; the handler was cancelled, and its result is ignored", metadata: holder.metadata(message))
        default:
            // It is given up: others can have its message at once.
            slots.handIn(HandlerSlots.Finished(claimed: claimed, verdict: .release))
        }
    }

    private func work(on claimed: HandlerSlots.Claimed, _ run: HandlerRun) async {
        let began = time.boot
        let timer = options.timeout.map { timeout in
            Task { [time] in if (try? await time.sleep(for: timeout)) != nil { run.end(.timedOut(timeout)) } }
        }
        let end = run.left(await handle(claimed, run))
        timer?.cancel()
        inFlight.endRun(run)
        let finished: HandlerSlots.Finished? =
            switch end {
            // What was given up was handed in then.
            case .givenUp: nil
            default: end.verdict.map { HandlerSlots.Finished(claimed: claimed, verdict: $0) }
            }
        if let next = slots.leave(finished, after: .microseconds(time.boot.microseconds - began.microseconds)) {
            begin(next)
        }
    }

    private func handle(_ claimed: HandlerSlots.Claimed, _ run: HandlerRun) async -> HandlerEnd {
        let (queue, holder) = (queues[claimed.source], holders[claimed.source])
        let delivery: Delivery<Element>
        do {
            delivery = try queue.decoded(claimed.message, by: holder)
        } catch {
            return .undecodable(error)
        }
        // What comes of the worker's own end does not count: the run was given up before its task was cancelled.
        if run.isOver { return .failed(CancellationError()) }
        let began = time.boot
        holder.metrics.running.increment()
        defer {
            holder.metrics.running.decrement()
            holder.metrics.work.recordMicroseconds(time.boot.microseconds - began.microseconds)
        }
        do {
            if let tracing = handle.tracing {
                try await tracing.process(claimed.message, of: queue.name) {
                    do {
                        // The last thing before: another worker may have by now what was given up a moment ago.
                        if run.isOver { throw CancellationError() }
                        try await handler(delivery)
                        return nil
                    } catch {
                        // Work that waits, or was asked to end, has not failed.
                        if error is Suspension || error is CancellationError && run.wasAskedToEnd { return error }
                        throw error
                    }
                }
            } else {
                if run.isOver { throw CancellationError() }
                try await handler(delivery)
            }
            return delivery.journal.end(.finished)
        } catch let error as UndecodablePayload {
            queue.log(error.cause, of: claimed.message, by: holder)
            return .undecodable(error.cause)
        } catch {
            return delivery.journal.end(.failed(error))
        }
    }
}

/// Handing in.
extension WorkerRun {
    /// Those whose handler has not settled by itself, in the order of the log: a store moves neighbours together.
    func stillHeld(_ finished: [HandlerSlots.Finished]) -> [HandlerSlots.Finished] {
        let finished = finished.sorted { $0.message.lease.sequence < $1.message.lease.sequence }
        let held = inFlight.beginSettling(finished.map(\.message.lease))
        return zip(finished, held).compactMap { finished, isHeld in
            // It was settled by hand, or is lost: an extension has found out.
            if !isHeld, finished.wasTried { log(finished, .leaseLost) }
            return isHeld ? finished : nil
        }
    }

    /// Settles, also for a task that is cancelled.
    ///
    /// - Throws: what the store threw, when it may pass. What it did not take is kept, and handed in again.
    func settle(_ finished: [HandlerSlots.Finished]) async throws {
        let held = stillHeld(finished)
        if held.isEmpty { return }
        let settlements = held.map(\.settlement)
        do {
            record(try await ownTask { [handle] in try await handle.storage.settle(settlements) }.value, of: held)
        } catch {
            try await settle(held, after: error)
        }
    }

    /// The store did not take these verdicts together. They go alone, so that none spoils another, unless the store takes
    /// nothing at all.
    ///
    /// - Throws: `error` or what came of another try, when it may pass.
    func settle(_ held: [HandlerSlots.Finished], after error: any Error) async throws {
        let failure = error as? PenstockError
        if held.count > 1, failure?.isOfStalledStore != true {
            var failures: [any Error] = []
            for finished in held {
                do {
                    try await settle([finished])
                } catch {
                    failures.append(error)
                }
            }
            if let last = failures.last { throw last }
        } else if failure?.mayPass == true, !inFlight.isDismissed {
            // Their leases are extended like those of handlers that run.
            for finished in held { inFlight.extendAgain(finished.message.lease) }
            slots.keep(
                held.map { finished in
                    var finished = finished
                    finished.wasTried = true
                    return finished
                })
            throw error
        } else {
            // The leases are extended no more, and the messages come back when they end.
            inFlight.remove(held.map(\.message.lease))
            for finished in held { holders[finished.source].tellUnsettled(finished.message, error) }
        }
    }

    func record(_ results: [SettleResult], of finished: [HandlerSlots.Finished]) {
        inFlight.remove(finished.map(\.message.lease))
        for (finished, result) in zip(finished, results) {
            if result != .leaseLost || !finished.wasTried {
                holders[finished.source].metrics.record(finished.verdict, result)
            }
            log(finished, result)
        }
    }

    private func log(_ finished: HandlerSlots.Finished, _ result: SettleResult) {
        let (message, holder) = (finished.message, holders[finished.source])
        switch (result, finished.verdict) {
        case (.leaseLost, _) where finished.wasTried:
            handle.logger.warning(
                "message was settled by an earlier try, or its lease was lost before",
                metadata: holder.metadata(message))
        case (.leaseLost, _):
            handle.logger.error(
                "message not settled; its lease was lost before", metadata: holder.metadata(message))
        case (_, .done):
            handle.logger.debug("message done", metadata: holder.metadata(message))
        case (_, .dead(_, reason: .undecodable)):
            // Said when it was found out.
            break
        case (.settled(let state), .retry(let error, _, _, _)), (.settled(let state), .dead(let error, _)):
            handle.logger.warning(state.whyNotDone, metadata: holder.metadata(message, error: error))
        case (.settled(.cancelled), _):
            handle.logger.info("message cancelled, as was asked for", metadata: holder.metadata(message))
        case (_, .release):
            handle.logger.info("message given back", metadata: holder.metadata(message))
        case (_, .suspend):
            handle.logger.debug("message waits to go on", metadata: holder.metadata(message))
        }
    }
}
