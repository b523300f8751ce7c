internal import Logging
internal import PenstockCore

extension WorkerRun {
    /// Takes messages up while there are free places and, if handlers are fast, some more; and hands in what is finished,
    /// both in one call: what ends while a call is under way goes with the next one. Returns when nothing more is to be
    /// claimed and every handler has left.
    ///
    /// When the store fails in a way that may pass, this goes on after a while, for as long as the worker is to work.
    func manage() async {
        var round = Round(claimLoop: ClaimLoop(holder))
        var retry = StoreRetry()
        while true {
            do {
                if try await work(&round) { return }
                retry.succeeded()
            } catch {
                // What a cancelled worker meets is no failure of the store.
                if Task.isCancelled {
                    stop()
                } else if let delay = retry.wait(after: error, of: "work", for: queue.name, handle) {
                    await pause(for: delay)
                } else {
                    fail(error)
                }
            }
        }
    }

    /// What is to be known from one round to the next.
    struct Round {
        var claimLoop: ClaimLoop
        /// How many messages were taken up.
        var takenCount = 0
        /// Whether more may be claimed than handlers are free for. Not where groups or limits say how many may be leased: what
        /// waits here for a handler would keep another worker from working.
        var claimsAhead = true
        /// How many messages nobody else is woken for that are announced since that token was taken.
        var promise: (count: Int, token: Wakeups.Token)?
    }

    /// Hands in, claims and begins once, or waits for a reason to.
    ///
    /// - Returns: whether the work is over.
    private func work(_ round: inout Round) async throws -> Bool {
        let changes = queue.storage.changes
        let wasRung = round.promise.map { changes.isRungForWork(in: queue.name, after: $0.token) } ?? false
        var promisedCount = wasRung ? round.promise?.count ?? 0 : 0
        round.promise = nil
        if wasRung, stopping.isOpen { await wakeAnother() }
        var taken = slots.take(at: time.boot, wantsAll: stopping.isOpen || promisedCount > 0)
        if stopping.isOpen || taken.waitingEnd.map({ $0.left(at: time.boot) == nil }) == true {
            let waiting = slots.takeWaiting()
            round.takenCount -= waiting.count
            taken.finished += waiting
            (taken.waitingCount, taken.waitingEnd, taken.aheadCount) = (0, nil, 0)
            // What is given back wakes another worker, which takes all that there is.
            promisedCount = 0
        }
        let isOver = stopping.isOpen || round.takenCount == options.max
        let aheadCount = round.claimsAhead ? taken.aheadCount : 0
        let places = options.concurrency + aheadCount - taken.busyCount - taken.waitingCount
        let left = options.max.map { $0 - round.takenCount } ?? .max
        let room = isOver || taken.isStocked ? 0 : min(max(places, promisedCount), left, Limits.batchCountMax)
        if room == 0 {
            if !taken.finished.isEmpty {
                try await settle(taken.finished)
            } else if isOver, taken.busyCount == 0 {
                return true
            } else {
                if let end = taken.waitingEnd { alarm.set(to: end) }
                await slots.wait(evenIfCancelled: taken.waitingEnd == nil)
            }
            return false
        }
        var request = ClaimRequest(queue: queue.name, limit: room, lease: options.lease)
        // The worker that was rung for messages is the only one that was, and one that drains wants to know that there
        // are none.
        request.leavesToOthers = !wasRung && !options.drain
        guard let claim = try await handIn(taken.finished, thenClaim: request, &round.claimLoop) else { return false }
        round.takenCount += claim.messages.count
        round.claimsAhead = !claim.isLimited
        for message in slots.begin(claim.messages, at: time.boot) { begin(message) }
        if options.drain, claim.messages.isEmpty, !claim.isWithheld, taken.busyCount + taken.waitingCount == 0 {
            stop()
        } else if claim.isAll(of: room), let before = round.claimLoop.before {
            let left = room - claim.messages.count
            round.promise = (left, before)
            await waitForWork(after: before, room: left, due: claim.nextDue)
        }
        return false
    }

    /// Returns after `delay`, or when the worker is told to stop or not to wait for anything more. Handlers go on, and what
    /// they finish gathers.
    private func pause(for delay: Duration) async {
        let end = time.boot + delay
        let wasStopping = stopping.isOpen
        alarm.set(to: end)
        while true {
            slots.expectNews()
            if end.left(at: time.boot) == nil || stopping.isOpen != wasStopping || inFlight.isDismissed { return }
            await slots.wait()
        }
    }

    /// Returns when a message may have come, a place is free, or something is to be handed in or given back.
    private func waitForWork(after token: Wakeups.Token, room: Int, due: Timestamp?) async {
        let changes = queue.storage.changes
        let call = changes.callForWork(in: queue.name, after: token, room: room) { [slots] in slots.touch() }
        let look = queue.storage.lookInterval
        let lookEnd = time.boot + look
        alarm.set(to: slots.waitingEnd.map { $0.microseconds < lookEnd.microseconds ? $0 : lookEnd } ?? lookEnd)
        if let due {
            // What is due goes by the wall clock, which has to be looked at now and then.
            let deadline = min(due, time.now + look)
            // Cancelled only with the worker, which is found out in the next round.
            try? await firstOf([
                { [slots] in await slots.wait() }, { [time] in try await time.sleep(until: deadline) },
            ])
        } else {
            await slots.wait()
        }
        if let call { changes.cancel(call) }
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

    /// Hands in, and claims.
    ///
    /// - Returns: what was claimed; `nil` when the verdicts had to go alone, and the next round claims.
    /// - Throws: what the claim threw, or what kept the store from taking the verdicts, if that may pass.
    private func handIn(
        _ finished: [HandlerSlots.Finished], thenClaim request: ClaimRequest, _ claimLoop: inout ClaimLoop
    ) async throws -> Claim? {
        let held = stillHeld(finished)
        let claim = StoreOperation.claim(request)
        let settle = StoreOperation.settle(held.map { Settlement($0.message.lease, $0.verdict) })
        let performed: Performed
        do {
            performed = try await claimLoop.perform(held.isEmpty ? [claim] : [settle, claim])
        } catch {
            if held.isEmpty { throw error }
            // Without the claim: it may be the claim that the store could not carry out.
            let isStalled = (error as? PenstockError)?.isOfStalledStore == true
            if isStalled { try await self.settle(held, after: error) } else { try await self.settle(held) }
            return nil
        }
        if case .settled(let results)? = performed.answers.first { record(results, of: held) }
        if let failure = performed.failure { throw failure }
        guard case .claimed(let claim)? = performed.answers.last else { throw PenstockError.unexpectedAnswer }
        return claim
    }
}
