internal import Logging
internal import Metrics
internal import PenstockCore
internal import PenstockStreams
internal import Synchronization

/// Goes with the inner sequences of deliveries: holds their leases while they run, and settles them at their ends.
final class SettlingEscort<Element: Settleable>: FlatMapEscort {
    private let crew = Crew()
    /// The readers that deliveries came from, each as it first appears.
    private let holders: AsyncStream<LeaseHolder>
    private let appeared: AsyncStream<LeaseHolder>.Continuation
    private let known = Mutex<Set<ObjectIdentifier>>([])

    init() {
        (holders, appeared) = AsyncStream.makeStream()
    }

    /// Extends leases until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await holder in holders {
                let keeper = LeaseKeeper(holder: holder, crew: crew, onlyOfCrew: true)
                group.addTask { await keeper.run() }
            }
            group.cancelAll()
        }
    }

    func accompany(_ element: Element, _ inner: FlatMapInner) async throws {
        let (lease, holder) = (element.delivery.lease, element.delivery.holder)
        let job = Job(lease)
        crew.add(job)
        defer { crew.remove(job) }
        watch(holder)
        let began = holder.handle.time.boot
        holder.metrics.running.increment()
        defer {
            holder.metrics.running.decrement()
            holder.metrics.work.recordMicroseconds(holder.handle.time.boot.microseconds - began.microseconds)
        }
        try await withTaskCancellationHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let end = WorkEnd(await inner.read())
                    // Nobody is to blame for an error that comes of the stream's own end.
                    job.end(Task.isCancelled ? .givenUp : end)
                }
                let end = await job.ended()
                group.cancelAll()
                switch end {
                case .givenUp:
                    // Before it has ended, should it be slow to: others can have its message at once.
                    try await settle(lease, end, by: holder)
                case .leaseLost:
                    try await group.waitForAll()
                    inner.makeRoom()
                    try await settle(lease, end, by: holder)
                case .returned, .threw, .undecodable, .timedOut:
                    inner.makeRoom()
                    try await settle(lease, end, by: holder)
                }
            }
        } onCancel: {
            job.end(.givenUp)
        }
    }

    func letGo(_ element: Element) async {
        // It is no failure of the stream when this does not succeed, so nothing is thrown.
        try? await settle(element.delivery.lease, .givenUp, by: element.delivery.holder)
    }

    private func watch(_ holder: LeaseHolder) {
        let isNew = known.withLock { $0.insert(ObjectIdentifier(holder.inFlight)).inserted }
        if isNew { appeared.yield(holder) }
    }

    private func settle(_ lease: Lease, _ end: WorkEnd, by holder: LeaseHolder) async throws {
        guard let verdict = end.verdict else {
            holder.inFlight.remove(lease)
            holder.metrics.leaseLost.increment()
            return log(holder, lease, "lease lost; the inner sequence was cancelled")
        }
        do {
            let state = try await holder.settleWhileHeld(lease, verdict)
            guard case .threw(let error) = end else { return }
            log(
                holder, lease, state == .dead ? "message is a dead letter" : "attempt failed; message comes back",
                error: "\(error)")
        } catch let error as PenstockError where error.code == .leaseLost {
            log(holder, lease, "lease lost; what the inner sequence gave may be given again")
        } catch {
            // The lease is extended no more, and the message comes back when it ends.
            holder.inFlight.remove(lease)
            if case .givenUp = end {
                return log(
                    holder, lease, "message not given back; it comes back when its lease ends", error: "\(error)")
            }
            throw error
        }
    }

    private func log(_ holder: LeaseHolder, _ lease: Lease, _ message: Logger.Message, error: String? = nil) {
        var metadata: Logger.Metadata = ["queue": "\(holder.queue)", "sequence": "\(lease.sequence)"]
        if let error { metadata["error"] = "\(error)" }
        holder.handle.logger.warning(message, metadata: metadata)
    }
}

extension WorkEnd {
    fileprivate init(_ end: FlatMapInner.End) {
        switch end {
        case .finished: self = .returned
        case .failed(let error): self = .threw(error)
        case .unwanted: self = .givenUp
        }
    }
}
