internal import Logging
internal import Metrics
internal import PenstockCore
internal import ServiceLifecycle
internal import Synchronization

/// One run of a worker, from the first claim until the last handler has ended.
final class Shift<Element: Sendable>: Sendable {
    let queue: Queue<Element>
    private let options: Worker<Element>.Options
    private let handler: Worker<Element>.Handler
    let holder: LeaseHolder
    private let crew = Crew()
    private let workbench: Workbench
    /// Opens when nothing more is to be claimed.
    private let stopping = Latch()
    /// Why claiming ended, if it was an error.
    private let failure = Mutex<(any Error)?>(nil)

    var handle: StoreHandle { queue.handle }
    private var time: any TimeSource { handle.time }
    var inFlight: InFlight { holder.inFlight }

    init(queue: Queue<Element>, options: Worker<Element>.Options, handler: @escaping Worker<Element>.Handler) {
        self.queue = queue
        self.options = options
        self.handler = handler
        workbench = Workbench(concurrency: options.concurrency, ahead: options.ahead)
        holder = LeaseHolder(
            queue, inFlight: InFlight(queue: queue.name, time: queue.handle.time, forgetsEnded: false),
            lease: options.lease)
    }

    /// Ends the claiming. What runs may go on for the time of grace.
    func stop() {
        stopping.open()
        // What waits for a place is given back.
        workbench.touch()
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            let keeper = LeaseKeeper(holder: holder, crew: crew)
            group.addTask { await keeper.run() }
            group.addTask { await self.dismissAfterGrace() }
            group.addTask { await Housekeeper(handle: self.handle).run() }
            await withTaskCancellationHandler {
                await manage()
            } onCancel: {
                stop()
                crew.dismiss()
            }
            group.cancelAll()
        }
        try Task.checkCancellation()
        if let failure = failure.withLock({ $0 }) { throw failure }
    }

    private func dismissAfterGrace() async {
        do {
            try await stopping.wait()
            try await time.sleep(for: options.grace)
            handle.logger.warning("grace is over; handlers are cancelled", metadata: ["queue": "\(queue.name)"])
            crew.dismiss()
        } catch {
            // Cancelled: the handlers ended within the grace, or the worker is cancelled, which ends them as well.
        }
    }

    // MARK: Claiming and settling

    /// Takes messages up while there are free places and, if handlers are fast, some more; and hands in what is finished,
    /// both in one call: what ends while a call is under way goes with the next one. Returns when nothing more is to be
    /// claimed and every handler has left.
    private func manage() async {
        var takenCount = 0
        // Messages for which nobody else is woken since that token was taken.
        var promisedCount = 0
        var promised: Wakeups.Token?
        while true {
            // The token comes before the look, so that a ring in between is not lost.
            let changed = queue.storage.changes.token(for: queue.name)
            if !stopping.isOpen { await reclaim() }
            if let token = promised, stopping.isOpen, token != changed { await wakeAnother() }
            promised = nil
            var look = workbench.take()
            if stopping.isOpen || look.waitingEnd.map({ $0.left(at: time.boot) == nil }) == true {
                let waiting = workbench.takeWaiting()
                takenCount -= waiting.count
                look.finished += waiting
                (look.waitingCount, look.waitingEnd, look.aheadCount) = (0, nil, 0)
                // What is given back wakes another worker, who takes all that there is.
                promisedCount = 0
            }
            let isOver = stopping.isOpen || takenCount == options.max
            let places = options.concurrency + look.aheadCount - look.busyCount - look.waitingCount
            let left = options.max.map { $0 - takenCount } ?? .max
            let room = isOver ? 0 : min(max(places, promisedCount), left, Limits.batchCountMax)
            promisedCount = 0
            if room == 0 {
                if !look.finished.isEmpty {
                    await settle(look.finished)
                } else if isOver, look.busyCount == 0 {
                    return
                } else if let end = look.waitingEnd {
                    await waitForPlace(until: end)
                } else {
                    await workbench.wait(evenIfCancelled: true)
                }
                continue
            }
            guard let claim = await handIn(look.finished, thenClaim: room) else { continue }
            takenCount += claim.messages.count
            begin(claim.messages)
            if options.drain, claim.messages.isEmpty, look.busyCount + look.waitingCount == 0 { return stop() }
            if claim.isAll(of: room) {
                (promisedCount, promised) = (room - claim.messages.count, changed)
                await waitForWork(after: changed, room: promisedCount, due: claim.nextDue)
            }
        }
    }

    /// Returns when a message may have come, a place is free, or something is to be handed in or given back.
    private func waitForWork(after token: Wakeups.Token, room: Int, due: Timestamp?) async {
        var waits = holder.waitsForWork(after: token, room: room, due: due)
        waits.append { [workbench] in await workbench.wait() }
        waits.append { [stopping] in try await stopping.wait() }
        if let end = workbench.waitingEnd {
            waits.append { [time] in try await time.sleep(for: end.left(at: time.boot) ?? .zero) }
        }
        // Cancelled only with the worker, which is found out at the next turn.
        try? await firstOf(waits)
    }

    /// Passes on that it was woken for messages, which it does not take any more: one that is given back wakes another
    /// worker, and that one takes all that there is.
    private func wakeAnother() async {
        let request = ClaimRequest(queue: queue.name, limit: 1, lease: options.lease)
        await Task { [storage = queue.storage] in
            // Should it fail, others find the messages when they look.
            guard let message = try? await storage.claim(request).messages.first else { return }
            _ = try? await storage.settle([Settlement(message.lease, .release)])
        }.value
    }

    /// Returns when a handler has left or something is to be handed in, and at `end`, when what waits for a place is given
    /// back.
    private func waitForPlace(until end: BootTime) async {
        try? await firstOf([
            { [workbench] in await workbench.wait() },
            { [time] in try await time.sleep(for: end.left(at: time.boot) ?? .zero) },
        ])
    }

    /// Hands in, and claims up to `room` messages.
    ///
    /// - Returns: `nil` when the claim failed, which stops the worker.
    private func handIn(_ finished: [Workbench.Finished], thenClaim room: Int) async -> Claim? {
        let held = stillHeld(finished)
        let request = ClaimRequest(queue: queue.name, limit: room, lease: options.lease)
        let ends = time.boot + options.lease
        let exchange: Exchange
        do {
            exchange = try await queue.storage.settle(
                held.map { Settlement($0.message.lease, $0.verdict) }, thenClaim: request)
        } catch {
            // Verdicts that did not go through together may do so alone, and the next claim tells whether it was that.
            if held.isEmpty { fail(error) } else { await settle(held) }
            return nil
        }
        record(exchange.settled, of: held)
        do {
            let claim = try exchange.claim.get()
            holder.hold(claim, until: ends)
            return claim
        } catch {
            fail(error)
            return nil
        }
    }

    /// Looks for lost work, when it is time to.
    private func reclaim() async {
        guard handle.reclaimPace.takesTurn() else { return }
        do {
            _ = try await queue.storage.reclaim()
        } catch {
            fail(error)
        }
    }

    private func fail(_ error: any Error) {
        // What a cancelled worker meets is no failure of its claims.
        if Task.isCancelled { return }
        failure.withLock { $0 = error }
        handle.logger.error(
            "claiming failed; the worker stops", metadata: ["queue": "\(queue.name)", "error": "\(error)"])
        stop()
    }

    // MARK: Working

    private func begin(_ messages: [ClaimedMessage]) {
        for message in workbench.begin(messages, at: time.boot) { begin(message) }
    }

    /// Begins with a message that has a place, or with the next one if its lease was lost while it waited.
    private func begin(_ message: ClaimedMessage) {
        var message = message
        while !inFlight.contains(message.lease) {
            guard let next = workbench.leave(after: nil) else { return }
            message = next
        }
        // Each runs in a task that can be cancelled alone. None outlives the worker: it waits until all have left.
        let task = HandlerTask()
        let job = Job(message.lease) { [self, message] job, end in ended(job, message, task, end) }
        crew.add(job)
        task.begin { [message] in await self.work(on: message, job) }
    }

    /// Called once for each job, with the first reason for its end.
    private func ended(_ job: Job, _ message: ClaimedMessage, _ task: HandlerTask, _ end: WorkEnd) {
        switch end {
        case .returned, .threw, .undecodable:
            // It is leaving, and hands in what it says.
            return
        case .timedOut:
            // The handler may need a moment to leave things in order. Its message comes back after that, or when the
            // lease ends, whichever is first.
            inFlight.setExtended(false, message.lease)
        case .givenUp:
            workbench.handIn(Workbench.Finished(message: message, verdict: .release))
        case .leaseLost:
            inFlight.remove(message.lease)
            queue.metrics.leaseLost.increment()
            handle.logger.warning(
                "lease lost; the handler was cancelled, and its result is ignored", metadata: metadata(message))
        }
        task.cancel()
    }

    private func work(on message: ClaimedMessage, _ job: Job) async {
        let began = time.boot
        if let timeout = options.timeout {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [time] in
                    if (try? await time.sleep(for: timeout)) != nil { job.end(.timedOut(timeout)) }
                }
                job.end(await handle(message))
                group.cancelAll()
            }
        } else {
            job.end(await handle(message))
        }
        crew.remove(job)
        let verdict: Verdict? =
            switch await job.ended() {
            case .givenUp, .leaseLost: nil
            case let end: end.verdict
            }
        let finished = verdict.map { Workbench.Finished(message: message, verdict: $0) }
        if let next = workbench.leave(finished, after: .microseconds(time.boot.microseconds - began.microseconds)) {
            begin(next)
        }
    }

    private func handle(_ message: ClaimedMessage) async -> WorkEnd {
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

    private func handle(_ delivery: Delivery<Element>) async -> WorkEnd {
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
