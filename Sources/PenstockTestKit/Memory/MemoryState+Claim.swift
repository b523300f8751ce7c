import PenstockCore

extension MemoryState {
    mutating func claim(_ request: ClaimRequest, worker: Int64, at moment: Moment) throws(PenstockError) -> Claim {
        try request.validate()
        let queue = try queue(request.queue)
        if let remote = request.remoteWorker { renew(remote, at: moment) } else { workers[worker]?.hasClaimed = true }
        let isLimited = queue.policy.limitsClaims
        guard !queue.isPaused, !queue.isDeleting else { return .empty(isLimited: isLimited) }

        let expiry = endExpired(of: request.queue, at: moment).next
        if let expiry, expiry <= moment.now {
            // The next claim goes on. None of them is handed out meanwhile.
            ring(request.queue)
            return .withheld(until: moment.now)
        }
        let startRoom = startRoom(of: request.queue, at: moment) ?? .max
        let leaseRoom = leaseRoom(of: request.queue) ?? .max
        let room = min(leaseRoom, startRoom)
        // What waits for the end of a lease as well is rung for then.
        let waitsForTime = startRoom < leaseRoom
        // What is due now cannot be claimed either. The end of a message that is leased is rung for.
        if room == 0, queues[request.queue]?.line.ready.elements.isEmpty == false {
            return .withheld(until: nextWithheld(of: request.queue, isByRate: waitsForTime, at: moment))
        }
        openDue(request.queue, at: moment)
        fireDue(of: request.queue, at: moment)
        makeReadyWhatIsDue(in: request.queue, at: moment)
        // Among those that are not in line yet one may go before others of its group, by its number.
        var firstDue: SequenceNumber?
        if case .fifo = queue.policy.groups {
            let left = queues[request.queue]?.line.scheduled.elements.prefix { $0.due <= moment.now } ?? []
            firstDue = left.map(\.sequence).min()
        }
        var claimed: [ClaimedMessage] = []
        let ready = queues[request.queue]?.line.ready.elements ?? []
        let first = bounded(
            ready.prefix(min(request.limit, room)).prefix { place in firstDue.map { place.sequence < $0 } ?? true })
        noteTurns(first, of: request.queue)
        let worker = first.isEmpty ? worker : request.remoteWorker.map { register($0, at: moment) } ?? worker
        for place in first {
            if let message = lease(place.sequence, for: request.lease, to: worker, at: moment) {
                claimed.append(message)
            }
        }
        let line = queues[request.queue]?.line
        let due = [
            line?.scheduled.elements.first?.due, nextFiring(of: request.queue, after: moment.now),
            line?.expiring.elements.first?.due,
            nextOpening(of: request.queue, at: moment),
        ]
        var claim = Claim(messages: claimed, nextDue: due.compactMap(\.self).min())
        claim.isLimited = isLimited
        // What has come in line with the start of these counts as well.
        claim.isWithheld = room < request.limit && claimed.count == room && line?.ready.elements.isEmpty == false
        if claim.isWithheld {
            claim.nextDue = nextWithheld(of: request.queue, isByRate: waitsForTime, at: moment)
        } else if firstDue != nil {
            // The next claim goes on.
            ring(request.queue)
            claim.isWithheld = true
            claim.nextDue = moment.now
        }
        return claim
    }

    /// The first of these, to the one with which they have more bytes than are to be in memory together.
    private func bounded(_ places: ArraySlice<MemoryLine.ReadyPlace>) -> ArraySlice<MemoryLine.ReadyPlace> {
        var bytes = 0
        let last = places.firstIndex { place in
            let new = messages[place.sequence]?.new
            bytes += (new?.payload.count ?? 0) + (new?.headers.headerBytes ?? 0)
            return bytes > Limits.batchBytesMax
        }
        return last.map { places[...$0] } ?? places
    }

    private func nextWithheld(of name: QueueName, isByRate: Bool, at moment: Moment) -> Timestamp? {
        let times = [
            isByRate ? nextStart(of: name, at: moment) : nil,
            queues[name]?.line.expiring.elements.first?.due,
        ]
        return times.compactMap(\.self).min()
    }

    private mutating func makeReadyWhatIsDue(in queue: QueueName, at moment: Moment) {
        let due = queues[queue]?.line.scheduled.elements.prefix { $0.due <= moment.now } ?? []
        for place in due.prefix(Limits.promotionCountMax) {
            move(place.sequence, by: .due, at: moment)
        }
    }

    private mutating func lease(
        _ sequence: SequenceNumber, for duration: Duration, to worker: Int64, at moment: Moment
    ) -> ClaimedMessage? {
        let before = messages[sequence]
        if let before { started(before, at: moment) }
        guard move(sequence, by: .claimed, at: moment) != nil, var message = messages[sequence] else { return nil }
        let token = LeaseToken(random: moment.random)
        message.hold = MemoryMessage.Hold(
            token: token, worker: worker, claimedAt: moment.now, ends: moment.boot + duration)
        let readySince = before?.readySince ?? message.enqueuedAt
        queues[message.queue]?.latency.wait.record(moment.now - readySince)
        messages[sequence] = message
        if workers[worker]?.rank == 0 {
            lastWorkerRank += 1
            workers[worker]?.rank = lastWorkerRank
        }
        return ClaimedMessage(
            lease: Lease(sequence: sequence, token: token), attempt: message.attempt, enqueuedAt: message.enqueuedAt,
            priority: message.new.priority, headers: message.new.headers, payload: message.new.payload,
            origin: message.new.origin, task: message.task, group: message.new.group)
    }
}
