internal import Logging
internal import PenstockCore

extension Shift {
    /// Takes messages up while there are free places and, if handlers are fast, some more; and hands in what is finished,
    /// both in one call: what ends while a call is under way goes with the next one. Returns when nothing more is to be
    /// claimed and every handler has left.
    ///
    /// When the store fails in a way that may pass, this goes on after a while, for as long as the worker is to work.
    func manage() async {
        var course = Course()
        var retry = StoreRetry()
        while true {
            do {
                if try await turn(&course) { return }
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

    /// What is to be known from one turn to the next.
    struct Course {
        /// How many messages were taken up.
        var takenCount = 0
        /// How many messages nobody else is woken for that are announced since that token was taken.
        var promise: (count: Int, token: Wakeups.Token)?
    }

    /// Hands in, claims and begins once, or waits for a reason to.
    ///
    /// - Returns: whether the work is over.
    private func turn(_ course: inout Course) async throws -> Bool {
        // The token comes before the look, so that a ring in between is not lost.
        let changed = queue.storage.changes.token(for: queue.name)
        let wasRung = course.promise.map { $0.token != changed } ?? false
        var promisedCount = wasRung ? course.promise?.count ?? 0 : 0
        course.promise = nil
        if wasRung, stopping.isOpen { await wakeAnother() }
        var look = workbench.take(at: time.boot, wantsAll: stopping.isOpen || promisedCount > 0)
        if stopping.isOpen || look.waitingEnd.map({ $0.left(at: time.boot) == nil }) == true {
            let waiting = workbench.takeWaiting()
            course.takenCount -= waiting.count
            look.finished += waiting
            (look.waitingCount, look.waitingEnd, look.aheadCount) = (0, nil, 0)
            // What is given back wakes another worker, who takes all that there is.
            promisedCount = 0
        }
        let isOver = stopping.isOpen || course.takenCount == options.max
        let places = options.concurrency + look.aheadCount - look.busyCount - look.waitingCount
        let left = options.max.map { $0 - course.takenCount } ?? .max
        let room = isOver || look.isStocked ? 0 : min(max(places, promisedCount), left, Limits.batchCountMax)
        if room == 0 {
            if !look.finished.isEmpty {
                try await settle(look.finished)
            } else if isOver, look.busyCount == 0 {
                return true
            } else {
                if let end = look.waitingEnd { alarm.set(to: end) }
                await workbench.wait(evenIfCancelled: look.waitingEnd == nil)
            }
            return false
        }
        var request = ClaimRequest(queue: queue.name, limit: room, lease: options.lease)
        // The worker that was rung for messages is the only one that was, and one that drains wants to know that there
        // are none.
        request.leavesToOthers = !wasRung && !options.drain
        guard let claim = try await handIn(look.finished, thenClaim: request) else { return false }
        course.takenCount += claim.messages.count
        begin(claim.messages)
        if options.drain, claim.messages.isEmpty, look.busyCount + look.waitingCount == 0 {
            stop()
        } else if claim.isAll(of: room) {
            let left = room - claim.messages.count
            course.promise = (left, changed)
            await waitForWork(after: changed, room: left, due: claim.nextDue)
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
            workbench.expectNews()
            if end.left(at: time.boot) == nil || stopping.isOpen != wasStopping || crew.isDismissed { return }
            await workbench.wait()
        }
    }

    /// Returns when a message may have come, a place is free, or something is to be handed in or given back.
    private func waitForWork(after token: Wakeups.Token, room: Int, due: Timestamp?) async {
        let changes = queue.storage.changes
        let call = changes.callForWork(in: queue.name, after: token, room: room) { [workbench] in workbench.touch() }
        let look = queue.storage.lookInterval
        let lookEnd = time.boot + look
        alarm.set(to: workbench.waitingEnd.map { $0.microseconds < lookEnd.microseconds ? $0 : lookEnd } ?? lookEnd)
        if let due {
            // What is due goes by the wall clock, which has to be looked at now and then.
            let deadline = min(due, time.now + look)
            // Cancelled only with the worker, which is found out at the next turn.
            try? await firstOf([
                { [workbench] in await workbench.wait() }, { [time] in try await time.sleep(until: deadline) },
            ])
        } else {
            await workbench.wait()
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
    /// - Returns: what was claimed; `nil` when the verdicts had to go alone, and the next turn claims.
    /// - Throws: what the claim threw, or what kept the store from taking the verdicts, if that may pass.
    private func handIn(_ finished: [Workbench.Finished], thenClaim request: ClaimRequest) async throws -> Claim? {
        let held = stillHeld(finished)
        let claim = StoreOperation.claim(request)
        let settle = StoreOperation.settle(held.map { Settlement($0.message.lease, $0.verdict) })
        let performed: Performed
        do {
            performed = try await holder.perform(held.isEmpty ? [claim] : [settle, claim])
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
