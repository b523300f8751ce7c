internal import Logging
internal import PenstockCore

extension WorkerRun {
    /// Takes messages up while there are free places and, if handlers are fast, some more; and hands in what is finished,
    /// both in one call: what ends while a call is under way goes with the next one. Returns when nothing more is to be
    /// claimed and every handler has left.
    ///
    /// When the store fails in a way that may pass, this goes on after a while, for as long as the worker is to work.
    func manage() async {
        var round = WorkerRound(holders, order: order, kinds: options.kinds)
        var retry = StoreRetry()
        while true {
            let wasStopping = stopping.isOpen
            do {
                if try await work(&round) { return }
                retry.succeeded()
            } catch {
                // What a cancelled worker meets is no failure of the store.
                if Task.isCancelled {
                    stop()
                } else if let delay = retry.wait(after: error, of: "work", for: holders[0].queue, handle) {
                    await pause(for: delay, wasStopping: wasStopping)
                } else {
                    fail(error)
                }
            }
        }
    }

    /// Hands in, claims and begins once, or waits for a reason to.
    ///
    /// - Returns: whether the work is over.
    private func work(_ round: inout WorkerRound) async throws -> Bool {
        round.takePromises()
        var taken = slots.take(at: time.boot, wantsAll: stopping.isOpen || round.owed.contains { $0 > 0 })
        // Asked once, and after the slots: a stop that comes later ends each wait, and the next round finds it.
        let isStopping = stopping.isOpen
        if isStopping { for index in round.takeUnkept() { await holders[index].wakeAnother() } }
        if isStopping || taken.waitingEnd.map({ $0.left(at: time.boot) == nil }) == true {
            let waiting = slots.takeWaiting()
            round.takenCount -= waiting.count
            taken.finished += waiting
            (taken.waitingCount, taken.waitingEnd, taken.aheadCount) = (0, nil, 0)
            // What is given back wakes another worker, which takes all that there is.
            for finished in waiting { round.passedOn(finished.source) }
        }
        let owed = round.owed
        let isOver = isStopping || round.takenCount == options.max
        let aheadCount = round.claimsAhead ? taken.aheadCount : 0
        let places = options.concurrency + aheadCount - taken.busyCount - taken.waitingCount
        let left = options.max.map { $0 - round.takenCount } ?? .max
        let room = isOver || taken.isStocked ? 0 : min(max(places, owed.max() ?? 0), left, Limits.batchCountMax)
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
        let isIdle = taken.busyCount + taken.waitingCount == 0
        let request = Request(room: room, owed: owed, isLast: options.drain && isIdle)
        guard let claimedCount = try await claim(request, handingIn: taken.finished, &round) else { return false }
        if options.drain, claimedCount == 0, isIdle, !round.isWithheld {
            stop()
        } else if claimedCount < room {
            round.promise(room - claimedCount)
            await waitForWork(round, room: room - claimedCount)
        }
        return false
    }

    /// What a round claims.
    private struct Request {
        /// How many messages, from all queues.
        var room: Int
        /// How many of each queue only this worker was woken for.
        var owed: [Int]
        /// Whether the worker ends when there is nothing. Then it also asks queues of which it is known that they were empty.
        var isLast: Bool
    }

    /// Hands in, and claims from one queue after another until all places are taken or all queues are empty: from as many of
    /// them in one call as have turns.
    ///
    /// - Returns: how many messages were claimed, and begin; `nil` when the verdicts had to go alone, and the next round claims.
    private func claim(
        _ request: Request, handingIn finished: [HandlerSlots.Finished], _ round: inout WorkerRound
    ) async throws -> Int? {
        var finished = finished
        var left = request.room
        var emptied: Set<Int> = []
        while left > 0 {
            var shares = round.shares(of: left, at: time.boot, time.now, except: emptied)
            if request.isLast, left == request.room, !shares.contains(where: { $0 > 0 }) {
                shares = round.shares(of: left, at: time.boot, time.now, asksAll: true, except: emptied)
            }
            // The others have their turns in the next call.
            var bytes = 0
            let asked = Array(
                shares.indices.filter { shares[$0] > 0 }.prefix { index in
                    bytes += ClaimRequest.bytesMax(limit: shares[index])
                    return bytes <= ClaimRequest.claimedBytesMax
                })
            if asked.isEmpty { break }
            let claims = asked.map { index in
                var claim = ClaimRequest(queue: holders[index].queue, limit: shares[index], lease: options.lease)
                // The worker that was rung for messages is the only one that was, and one that drains wants to know that
                // there are none.
                claim.leavesToOthers = request.owed[index] == 0 && !options.drain
                return claim
            }
            round.ask(asked)
            guard let answers = try await handIn(finished, thenClaim: claims, &round.claimLoop) else { return nil }
            finished = []
            for (index, claim) in zip(asked, answers.claims) {
                round.note(claim, of: shares[index], from: index, at: time.boot)
                if claim.isAll(of: shares[index]) { emptied.insert(index) }
                left -= claim.messages.count
            }
            begin(answers.claims, from: asked, &round)
            if let failure = answers.failure {
                guard let index = asked.dropFirst(answers.claims.count).first else { throw failure }
                try await goOn(without: index, after: failure, &round)
                emptied.insert(index)
            }
        }
        if !finished.isEmpty { try await settle(finished) }
        for index in round.takeUnkept() { await holders[index].wakeAnother() }
        return request.room - left
    }

    /// Begins with what was claimed from some of the queues, in the order of their turns.
    private func begin(_ claims: [Claim], from sources: [Int], _ round: inout WorkerRound) {
        var counts = holders.map { _ in 0 }
        var messages = holders.map { _ in [ClaimedMessage]().makeIterator() }
        for (index, claim) in zip(sources, claims) {
            counts[index] = claim.messages.count
            messages[index] = claim.messages.makeIterator()
        }
        var claimed = round.turns.order(counts).compactMap { index in
            messages[index].next().map { HandlerSlots.Claimed($0, source: index) }
        }
        if options.kinds != nil { claimed = claimed.filter { isKnown($0, &round.kinds) } }
        round.takenCount += claimed.count
        for next in slots.begin(claimed, at: time.boot) { begin(next) }
    }

    /// Whether this worker takes the message up. One of a kind that it does not know is handed in, to wait for another worker, and
    /// takes no place.
    private func isKnown(_ claimed: HandlerSlots.Claimed, _ kinds: inout KnownKinds) -> Bool {
        let message = claimed.message
        if kinds.contains(message) { return true }
        let verdict = KnownKinds.verdict(on: message, at: time.now)
        slots.handIn(HandlerSlots.Finished(claimed: claimed, verdict: verdict, isUnbegun: true))
        if kinds.isNews(message) {
            var metadata = holders[claimed.source].metadata(message)
            metadata["kind"] = "\(message.headers[KindName.header] ?? "")"
            handle.logger.warning(
                "messages of a kind that this worker does not know; they wait for another", metadata: metadata)
        }
        return false
    }

    /// A queue could not be claimed from. When it is gone, that is the matter of no other queue.
    ///
    /// - Throws: `failure`, unless there are other queues; what kept the store from saying whether there are.
    private func goOn(without index: Int, after failure: any Error, _ round: inout WorkerRound) async throws {
        guard holders.count > 1, (failure as? PenstockError)?.code == .unknownQueue else { throw failure }
        if round.wereOthersGone(than: index), try await areAllGone() { throw failure }
        let isNew = round.noteGone(index, at: time.boot)
        guard isNew else { return }
        handle.logger.error(
            "queue is gone; the worker goes on with its others, and looks for it every five seconds",
            metadata: ["queue": "\(holders[index].queue)"])
    }

    /// Whether the store has none of the queues, by one reading if the worker may: claims find them gone at different moments, and one may
    /// have been made anew before the next was deleted.
    private func areAllGone() async throws -> Bool {
        do {
            let found = Set(try await handle.storage.status(of: nil).queues.map(\.name))
            return found.isDisjoint(with: holders.map(\.queue))
        } catch let error as PenstockError where error.code == .forbidden {
            // A token for some queues may know of each of these.
        }
        for holder in holders {
            do {
                _ = try await handle.storage.status(of: holder.queue)
                return false
            } catch let error as PenstockError where error.code == .unknownQueue {
                continue
            }
        }
        return true
    }

    /// Hands in, and claims.
    ///
    /// - Returns: what was claimed, and why the claim after these failed; `nil` when the verdicts had to go alone, and the next
    ///   round claims.
    /// - Throws: what kept the store from taking the verdicts, if that may pass.
    private func handIn(
        _ finished: [HandlerSlots.Finished], thenClaim requests: [ClaimRequest], _ claimLoop: inout ClaimLoop
    ) async throws -> (claims: [Claim], failure: (any Error)?)? {
        let held = stillHeld(finished)
        let claims = requests.map(StoreOperation.claim)
        let settle = StoreOperation.settle(held.map(\.settlement))
        let performed: Performed
        do {
            performed = try await claimLoop.perform(held.isEmpty ? claims : [settle] + claims)
        } catch {
            if held.isEmpty { return ([], error) }
            // Without the claim: it may be the claim that the store could not carry out.
            let isStalled = (error as? PenstockError)?.isOfStalledStore == true
            if isStalled { try await self.settle(held, after: error) } else { try await self.settle(held) }
            return nil
        }
        if case .settled(let results)? = performed.answers.first { record(results, of: held) }
        let claimed = performed.answers.compactMap { if case .claimed(let claim) = $0 { claim } else { nil } }
        let isWhole = claimed.count == requests.count
        return (claimed, performed.failure ?? (isWhole ? nil : PenstockError.unexpectedAnswer))
    }
}
