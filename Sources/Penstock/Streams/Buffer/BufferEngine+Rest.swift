internal import Metrics
internal import PenstockCore
internal import PenstockStreams
internal import Synchronization

/// When there is nothing to do in the store: the engine counts what is left, waits for a change, or ends.
extension BufferEngine {
    func count(_ claimLoop: inout ClaimLoop, _ departedCount: inout Int?) async throws {
        departedCount = holder.inFlight.departedCount
        claimLoop.expectNews()
        let held = countHeld()
        // Before the look at the queue: what comes back in between is counted twice, and not overlooked.
        let unsettled = try await countUnsettled()
        let waiting = try await persistently("status") { try await queue.status().depths.waiting }
        let isDue = state.withLock { $0.finishDue.map { $0 <= queue.handle.time.now } ?? true }
        perform { $0.counted(held + unsettled + waiting + (isDue ? 0 : 1)) }
    }

    /// Forgets deliveries that were let go, once their leases have ended: a stream may run for weeks, and of many of them the store
    /// is asked which it has taken back. That it does not say is told when the stream ends, if it still matters then.
    func forgetEnded() async {
        _ = countHeld()
        if state.withLock({ $0.ended.count >= $0.endedMax }) { _ = try? await countUnsettled() }
    }

    private func countHeld() -> Int {
        let (held, ended) = holder.inFlight.countForgetting()
        state.withLock { $0.ended += ended }
        return held
    }

    /// How many messages the store still has for this stream whose leases have ended: each is settled yet, or comes back.
    private func countUnsettled() async throws -> Int {
        let ended = state.withLock { $0.ended }
        if ended.isEmpty { return 0 }
        let standings = try await persistently("extend") {
            try await queue.storage.extend(ended.map { LeaseExtension($0) })
        }
        let unsettled = zip(ended, standings).filter(\.1.isHeld).map(\.0)
        state.withLock { state in
            state.ended = unsettled
            state.endedMax = max(State.endedMin, 2 * unsettled.count)
        }
        return unsettled.count
    }

    func rest(
        after token: Wakeups.Token, _ claimLoop: ClaimLoop?, _ departedCount: Int?
    ) async throws {
        let awaitWork: @Sendable () async throws -> Void = { [work, name = queue.name] in
            try await work.wait(for: name, after: token)
        }
        guard let claimLoop else { return try await awaitWork() }
        let time = queue.handle.time
        let look = time.now + queue.storage.lookInterval
        let (finishDue, isWanted) = state.withLock { ($0.finishDue, $0.machine.demand > 0) }
        // A message that becomes due is no matter while nobody asks for one, and a moment that has passed would end each rest at once.
        let nextDue = isWanted ? claimLoop.nextDue : nil
        let deadline = min(look, nextDue ?? look, finishDue.flatMap { $0 > time.now ? $0 : nil } ?? look)
        let changed = Latch()
        var waits = [awaitWork]
        waits.append {
            try await time.sleep(until: deadline)
            changed.open()
        }
        if let token = claimLoop.before {
            waits.append { [changes = queue.storage.changes, name = queue.name] in
                try await changes.waitForRoomOrWork(in: name, after: token)
                changed.open()
            }
        }
        if let departedCount {
            waits.append { [inFlight = holder.inFlight] in
                try await inFlight.waitForDeparture(after: departedCount)
                changed.open()
            }
        }
        try await firstOf(waits)
        if changed.isOpen { perform { $0.looksAgain() } }
    }

    func end() async -> (any Error)? {
        holder.line.endCarrying()
        var unflushedFailure: (any Error)?
        do { try await unflushed.wait(upTo: nil) } catch { unflushedFailure = error }
        let (refused, failure, stillWaiters) = state.withLock { state in
            state.isResting = true
            defer { state.stillWaiters = [] }
            return (state.refused, state.machine.failure, state.stillWaiters)
        }
        await holder.giveBack(refused)
        for waiter in stillWaiters { waiter() }
        return failure ?? unflushedFailure
    }
}
