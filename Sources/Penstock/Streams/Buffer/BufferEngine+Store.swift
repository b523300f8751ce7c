internal import Logging
internal import Metrics
internal import PenstockCore
internal import PenstockStreams
internal import Synchronization

/// The store loop: carries out in the store what the machine has written down, one step after another.
extension BufferEngine {
    /// Works until the stream is over and everything that it held and nobody got is back in line. Cancelling the task
    /// does nothing: call ``cancel(handingBack:)``.
    ///
    /// - Returns: why the stream ended, if not because it had finished or was cancelled.
    @usableFromInline package func run() async -> (any Error)? {
        var claimLoop = ClaimLoop(holder)
        var departedCount: Int?
        holder.line.beginCarrying { [self] in wake() }
        while true {
            // The token comes before the look, so that a ring in between is not lost.
            let token = work.token(for: queue.name)
            let (step, hasVerdicts, actions, stillWaiters) = state.withLock { state in
                let (step, actions) = state.machine.nextStep()
                let hasVerdicts = !holder.line.isEmpty
                guard case .rest = step, !hasVerdicts else {
                    state.isResting = false
                    return (step, hasVerdicts, actions, [@Sendable () -> Void]())
                }
                state.isResting = true
                defer { state.stillWaiters = [] }
                return (step, hasVerdicts, actions, state.stillWaiters)
            }
            carryOut(actions)
            for waiter in stillWaiters { waiter() }
            do {
                switch step {
                case .open: try await open()
                case .perform(let steps):
                    try await perform(steps, &claimLoop)
                    await forgetEnded()
                    await holder.line.gather()
                case .rest where hasVerdicts, .count where hasVerdicts: await claimLoop.settle()
                case .recount: try await recount()
                case .count: try await count(&claimLoop, &departedCount)
                case .rest(let isWatching): try await rest(after: token, isWatching ? claimLoop : nil, departedCount)
                case .end: return await end()
                }
            } catch let overflow as Overflow {
                perform { $0.overflowed(overflow.failure) }
            } catch {
                perform { $0.storageFailed(error) }
            }
        }
    }

    /// The store has no place for a value of a stream that fails then.
    private struct Overflow: Error {
        let failure: any Error
    }

    // MARK: Calls of the store

    private func open() async throws {
        try Lease.validate(options.lease)
        if let delay = options.delay, delay < .zero || delay > Limits.delayMax {
            throw PenstockError(.invalidInput, "A delay must be 0 to ten years (delayMax).")
        }
        let capacity = Capacity(options.size, whenFull: options.whenFull.policy)
        try QueuePolicy(capacity: capacity).validate()

        let (waiting, isPaused) = try await persistently("open") {
            // What a stream that died had handed out comes first.
            _ = try await queue.storage.reclaim()
            let status = try await queue.status()
            if status.policy.capacity != capacity { try await queue.changePolicy { $0.capacity = capacity } }
            return (status.depths.waiting, options.prefetch == .keepFull ? try await wasPaused() : false)
        }
        perform { $0.opened(waiting: waiting, isPaused: isPaused) }
        outlets.opened()
    }

    private func recount() async throws {
        let stored = try await persistently("status") { try await queue.status().depths.waiting }
        perform { $0.recounted(stored) }
    }

    /// Makes a call of the store, again and again while it fails in a way that may pass and the stream goes on. A stream
    /// that is over, and has something left to store, does so for as long as a lease lasts.
    ///
    /// - Parameters:
    ///   - stores: whether the call stores values.
    ///   - repeats: whether the call may be made again after a failure.
    func persistently<Answer: Sendable>(
        _ call: StaticString, stores: Bool = false, if repeats: (PenstockError) -> Bool = { _ in true },
        _ body: () async throws -> Answer
    ) async throws -> Answer {
        var retry = StoreRetry()
        var lastEnd: BootTime?
        let time = queue.handle.time
        while true {
            do {
                return try await body()
            } catch let error as PenstockError where repeats(error) {
                let isOpen = state.withLock { $0.machine.isOpen || $0.machine.phase == .opening }
                if !isOpen, lastEnd == nil { lastEnd = time.boot + (stores ? options.lease : .zero) }
                guard lastEnd.map({ $0.left(at: time.boot) != nil }) ?? true,
                    let delay = retry.wait(after: error, of: call, for: queue.name, queue.handle),
                    (try? await holder.line.whileAway({ try await time.sleep(for: delay) })) != nil
                else { throw error }
            }
        }
    }

    /// Whether the last value that arrived overflowed, and none was taken since: then an earlier stream had paused, and
    /// this one goes on in the same way.
    private func wasPaused() async throws -> Bool {
        let drops = MessageQuery(queue: queue.name, states: [.dropped], end: .last, limit: 1)
        guard let drop = try await queue.storage.messages(drops).first else { return false }
        let next = MessageQuery(queue: queue.name, after: drop.sequence, limit: 1)
        let follower = try await queue.storage.messages(next).first
        guard drop.reason == .dropOldest else { return follower == nil }
        // What follows a dropped head is the head, until somebody takes it.
        return follower.map { $0.state.isWaiting && $0.attempt == 0 } ?? false
    }

    /// Carries out steps in their order, and tells the machine what each gave.
    private func perform(_ steps: [PendingOperations<NewMessage>.Step], _ claimLoop: inout ClaimLoop) async throws {
        if steps.isEmpty { return }
        let operations = steps.map { step -> StoreOperation in
            switch step {
            case .enqueue(let messages): .enqueue(messages, to: queue.name, durability: queue.handle.durability)
            case .claim(let limit): .claim(ClaimRequest(queue: queue.name, limit: limit, lease: options.lease))
            }
        }
        let performed = await persistently(operations, &claimLoop)
        var failure = performed.failure
        var isCutShort = false
        for (step, answer) in zip(steps, performed.answers) {
            switch (step, answer) {
            case (.enqueue(let messages), .enqueued(let receipts)):
                record(receipts, of: messages)
                isCutShort = receipts.count < messages.count
            case (.claim(let limit), .claimed(let claim)):
                do {
                    try await give(claim, limit: limit)
                } catch {
                    // A message that cannot be handed out ends the stream, whatever else has happened.
                    failure = error
                }
            default: failure = PenstockError.unexpectedAnswer
            }
        }
        guard let failure else {
            if performed.answers.count < steps.count, !isCutShort { throw PenstockError.unexpectedAnswer }
            return
        }
        let undone = steps[performed.answers.count...]
        guard (failure as? PenstockError)?.code == .queueFull, case .enqueue(let messages)? = undone.first else {
            throw failure
        }
        // Others have filled it. What still finds a place is stored; if all do, the stream goes on.
        if try await enqueueOneByOne(messages, &claimLoop) {
            try await perform(Array(undone.dropFirst()), &claimLoop)
        }
    }

    /// Carries out operations, and goes on after those that are done when the store fails in a way that may pass.
    ///
    /// A call of which nobody knows whether it took effect is not made again when it stores values, as it may store one
    /// twice: then the stream fails with that.
    private func persistently(_ operations: [StoreOperation], _ claimLoop: inout ClaimLoop) async -> Performed {
        let stores = operations.contains(where: \.isEnqueue)
        // What found no room waits for what is announced since it was offered.
        let isBlocked = state.withLock { $0.machine.operations.isBlocked }
        var answers: [StoreAnswer] = []
        do {
            let repeats = { [unflushed] (error: PenstockError) in
                !unflushed.hasFailed && (!stores || error.code != .outcomeUnknown)
            }
            return try await persistently("perform", stores: stores, if: repeats) {
                let performed = try await perform(Array(operations[answers.count...]), &claimLoop, keepsNews: isBlocked)
                answers += performed.answers
                if let failure = performed.failure as? PenstockError, failure.mayPass { throw failure }
                return Performed(answers: answers, failure: performed.failure)
            }
        } catch {
            return Performed(answers: answers, failure: error)
        }
    }

    /// One call of the store. It is answered at its COMMIT; what it stores is handed out when it is on the disk.
    private func perform(
        _ operations: [StoreOperation], _ claimLoop: inout ClaimLoop, keepsNews: Bool
    ) async throws -> Performed {
        guard operations.contains(where: \.isEnqueue) else {
            return try await claimLoop.perform(operations, keepsNews: keepsNews)
        }
        let (call, flushed) = unflushed.begin { [self] error in perform { $0.storageFailed(error) + [.wake] } }
        var first: SequenceNumber?
        defer { unflushed.answered(call, from: first) }
        let performed = try await claimLoop.perform(operations, keepsNews: keepsNews, flushed: flushed)
        for case .enqueued(let receipts) in performed.answers where first == nil { first = receipts.first?.sequence }
        return performed
    }

    /// Returns whether all have found a place.
    private func enqueueOneByOne(_ messages: [NewMessage], _ claimLoop: inout ClaimLoop) async throws -> Bool {
        var receipts: [Receipt] = []
        // What is stored is not lost, whatever becomes of the rest.
        defer { record(receipts, of: messages) }
        for message in messages {
            let enqueue = StoreOperation.enqueue([message], to: queue.name, durability: queue.handle.durability)
            let performed = await persistently([enqueue], &claimLoop)
            if let failure = performed.failure {
                guard (failure as? PenstockError)?.code == .queueFull else { throw failure }
                guard case .customError(let make) = options.whenFull else {
                    throw PenstockError(
                        .queueFull, "The queue is full, and another program has set its policy to 'fail'.")
                }
                throw Overflow(failure: make())
            }
            // None when somebody has told the queue to let producers wait.
            guard case .enqueued(let stored)? = performed.answers.first, !stored.isEmpty else { return false }
            receipts += stored
        }
        return true
    }

    private func record(_ receipts: [Receipt], of messages: [NewMessage]) {
        queue.metrics.record(receipts, of: messages)
        let net = receipts.reduce(0) { $0 + ($1.state?.isWaiting == true ? 1 : 0) - ($1.displaced == nil ? 0 : 1) }
        perform { $0.enqueued(accepted: receipts.count, net: net) }
    }

    private func give(_ claim: Claim, limit: Int) async throws {
        perform { $0.claimed(claim.messages.count, isShort: claim.isAll(of: limit)) }
        var left = claim.messages[...]
        defer { refuse(left.map(\.lease)) }
        if let last = left.lazy.map(\.lease.sequence).max() { try await unflushed.wait(upTo: last) }
        guard outlets.givesToCode else { return try await handOut(&left) }
        // Downstream may take its time, and wait for a verdict of its own.
        try await holder.line.whileAway { try await handOut(&left) }
    }

    /// Code of the program is given one after the other; a consumer that waits is woken once for all.
    private func handOut(_ left: inout ArraySlice<ClaimedMessage>) async throws {
        var opened: [Delivery<Element>] = []
        defer { give(opened) }
        while let message = left.first {
            guard holder.inFlight.lives(message.lease) else {
                // Downstream took its time with those before: another reader may have these by now.
                let ended = left.map(\.lease)
                left = []
                perform { machine in ended.flatMap { _ in machine.unopened() } }
                return await holder.giveBack(ended)
            }
            let delivery = try await queue.opened(message, by: holder)
            left.removeFirst()
            guard let delivery else {
                perform { $0.unopened() }
                continue
            }
            opened.append(delivery)
            if outlets.givesToCode {
                holder.line.handsOut()
                give(opened)
                opened = []
            }
        }
    }

    private func give(_ deliveries: [Delivery<Element>]) {
        if !deliveries.isEmpty, !outlets.give(deliveries) { refuse(deliveries.map(\.lease)) }
    }

    private func refuse(_ leases: [Lease]) {
        if !leases.isEmpty { state.withLock { $0.refused += leases } }
    }
}
