internal import Logging
internal import PenstockCore

extension Shift {
    /// Takes messages up while there are free places and, if handlers are fast, some more; and hands in what is finished,
    /// both in one call: what ends while a call is under way goes with the next one. Returns when nothing more is to be
    /// claimed and every handler has left.
    func manage() async {
        var takenCount = 0
        // How many messages nobody else is woken for that are announced since that token was taken.
        var promise: (count: Int, token: Wakeups.Token)?
        while true {
            // The token comes before the look, so that a ring in between is not lost.
            let changed = queue.storage.changes.token(for: queue.name)
            if !stopping.isOpen { await reclaim() }
            let wasRung = promise.map { $0.token != changed } ?? false
            var promisedCount = wasRung ? promise?.count ?? 0 : 0
            promise = nil
            if wasRung, stopping.isOpen { await wakeAnother() }
            var look = workbench.take(at: time.boot, wantsAll: stopping.isOpen || promisedCount > 0)
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
            let room = isOver || look.isStocked ? 0 : min(max(places, promisedCount), left, Limits.batchCountMax)
            if room == 0 {
                if !look.finished.isEmpty {
                    await settle(look.finished)
                } else if isOver, look.busyCount == 0 {
                    return
                } else {
                    if let end = look.waitingEnd { alarm.set(to: end) }
                    await workbench.wait(evenIfCancelled: look.waitingEnd == nil)
                }
                continue
            }
            var request = ClaimRequest(queue: queue.name, limit: room, lease: options.lease)
            // Who was rung for messages is the only one who was, and who drains wants to know that there are none.
            request.leavesToOthers = !wasRung && !options.drain
            guard let claim = await handIn(look.finished, thenClaim: request) else { continue }
            takenCount += claim.messages.count
            begin(claim.messages)
            if options.drain, claim.messages.isEmpty, look.busyCount + look.waitingCount == 0 { return stop() }
            if claim.isAll(of: room) {
                let left = room - claim.messages.count
                promise = (left, changed)
                await waitForWork(after: changed, room: left, due: claim.nextDue)
            }
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
    /// - Returns: `nil` when the claim failed, which stops the worker.
    private func handIn(_ finished: [Workbench.Finished], thenClaim request: ClaimRequest) async -> Claim? {
        let held = stillHeld(finished)
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
}
