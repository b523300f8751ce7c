internal import Logging
internal import Metrics
internal import PenstockCore
internal import PenstockStreams
internal import ServiceLifecycle
internal import Synchronization

/// One run of a worker, from the first claim until the last handler has ended.
final class Shift<Element: Sendable>: Sendable {
    private let queue: Queue<Element>
    private let options: Worker<Element>.Options
    private let handler: Worker<Element>.Handler
    private let holder: LeaseHolder
    private let crew = Crew()
    /// Opens when nothing more is to be claimed.
    private let stopping = Latch()
    /// Why claiming ended, if it was an error.
    private let failure = Mutex<(any Error)?>(nil)

    private var handle: StoreHandle { queue.handle }
    private var time: any TimeSource { handle.time }
    private var inFlight: InFlight { holder.inFlight }

    init(queue: Queue<Element>, options: Worker<Element>.Options, handler: @escaping Worker<Element>.Handler) {
        self.queue = queue
        self.options = options
        self.handler = handler
        holder = LeaseHolder(
            queue: queue.name, storage: queue.storage, time: queue.handle.time, metrics: queue.metrics,
            inFlight: InFlight(queue: queue.name, time: queue.handle.time, forgetsEnded: false))
    }

    /// Ends the claiming. What runs may go on for the time of grace.
    func stop() {
        stopping.open()
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            let keeper = LeaseKeeper(
                queue: queue.name, handle: handle, inFlight: inFlight, crew: crew, lease: options.lease)
            group.addTask { await keeper.run() }
            group.addTask { await self.dismissAfterGrace() }
            group.addTask { await Housekeeper(handle: self.handle).run() }
            // Each job is an inner sequence without elements, so there is nothing to do here but wait for the end.
            for await _ in Claims(shift: self).flatMap(
                maxConcurrent: options.concurrency,
                { delivery in
                    Work { await self.work(on: delivery) }
                })
            {}
            group.cancelAll()
        }
        // What was claimed and had not begun when everything was cancelled.
        await handle.returns.complete(inFlight.removeAll())
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

    // MARK: Claiming

    /// The messages to work. It ends instead of failing: an error stops the worker, but not the handlers that run.
    private struct Claims: AsyncSequence, Sendable {
        let shift: Shift

        func makeAsyncIterator() -> Iterator {
            Iterator(shift: shift, intake: shift.makeIntake())
        }

        struct Iterator: AsyncIteratorProtocol {
            let shift: Shift
            let intake: Intake<Element>

            mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Delivery<Element>?
            {
                do {
                    return try await intake.next(isolation: isolation)
                } catch {
                    if !Task.isCancelled { shift.fail(error) }
                    return nil
                }
            }
        }
    }

    private func makeIntake() -> Intake<Element> {
        let demand = Demand(
            inFlightMax: options.concurrency, lease: options.lease, countMax: options.max, drains: options.drain,
            stop: stopping)
        return Intake(queue: queue, demand: demand, inFlight: inFlight)
    }

    private func fail(_ error: any Error) {
        failure.withLock { $0 = error }
        handle.logger.error(
            "claiming failed; the worker stops", metadata: ["queue": "\(queue.name)", "error": "\(error)"])
        stop()
    }

    // MARK: Working

    private func work(on delivery: Delivery<Element>) async {
        let job = Job(delivery.lease)
        crew.add(job)
        defer { crew.remove(job) }
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { job.end(await self.handle(delivery)) }
                if let timeout = options.timeout {
                    group.addTask { [time] in
                        if (try? await time.sleep(for: timeout)) != nil { job.end(.timedOut(timeout)) }
                    }
                }
                let end = await job.ended()
                // A handler that ran out of time may need a moment to leave things in order. Its message comes back
                // after that, or when the lease ends, whichever is first. All others' messages wait for nobody.
                if end.isTimeout { inFlight.setExtended(false, delivery.lease) }
                group.cancelAll()
                if end.isTimeout { await group.waitForAll() }
                await settle(delivery, end)
            }
        } onCancel: {
            job.end(.givenUp)
        }
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

    private func settle(_ delivery: Delivery<Element>, _ end: WorkEnd) async {
        guard let verdict = end.verdict else {
            inFlight.remove(delivery.lease)
            queue.metrics.leaseLost.increment()
            let message: Logger.Message = "lease lost; the handler was cancelled, and its result is ignored"
            return handle.logger.warning(message, metadata: metadata(delivery))
        }
        // The handler may have settled by itself.
        guard inFlight.contains(delivery.lease) else { return }
        do {
            let state = try await settleThoughCancelled(delivery.lease, verdict)
            log(delivery, verdict, state)
        } catch {
            // The lease is extended no more, and the message comes back when it ends.
            inFlight.remove(delivery.lease)
            handle.logger.error(
                "message not settled; it comes back when its lease ends",
                metadata: metadata(delivery, error: "\(error)"))
        }
    }

    private func settleThoughCancelled(_ lease: Lease, _ verdict: Verdict) async throws -> MessageState {
        do {
            return try await holder.settle(lease, verdict)
        } catch is CancellationError {
            return try await Task { [holder] in try await holder.settle(lease, verdict) }.value
        }
    }

    private func log(_ delivery: Delivery<Element>, _ verdict: Verdict, _ state: MessageState) {
        switch verdict {
        case .done:
            handle.logger.debug("message done", metadata: metadata(delivery))
        case .retry(let error, _, _), .dead(let error, _):
            let message: Logger.Message =
                state == .dead ? "message is a dead letter" : "attempt failed; message comes back"
            handle.logger.warning(message, metadata: metadata(delivery, error: error))
        case .release:
            handle.logger.info("message given back", metadata: metadata(delivery))
        }
    }

    private func metadata(_ delivery: Delivery<Element>, error: String? = nil) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "queue": "\(queue.name)", "sequence": "\(delivery.sequence)", "attempt": "\(delivery.attempt)",
        ]
        if let error { metadata["error"] = "\(error)" }
        return metadata
    }
}

/// An inner sequence that does one thing and gives nothing.
private struct Work: AsyncSequence, Sendable {
    typealias Element = Never

    let body: @Sendable () async -> Void

    struct Iterator: AsyncIteratorProtocol {
        let body: @Sendable () async -> Void

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Never? {
            await body()
            return nil
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(body: body)
    }
}
