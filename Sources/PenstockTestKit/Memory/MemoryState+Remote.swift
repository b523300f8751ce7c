import PenstockCore

/// What is known of a worker that claims through a handle, and is none.
struct MemoryRemoteWorker: Sendable {
    /// When it asked for messages last, to ten seconds.
    var seenAt: Timestamp
    /// Its clock, and by how much that was behind the wall clock, to a second.
    var clock: String
    var wallOffset: Int64
}

extension MemoryState {
    /// The number of a remote worker, which is made at need.
    mutating func register(_ name: WorkerName, at moment: Moment) -> Int64 {
        if let id = renew(name, at: moment) { return id }
        lastWorker += 1
        workers[lastWorker] = MemoryWorker(
            name: name.text, startedAt: moment.now, hasClaimed: true,
            remote: MemoryRemoteWorker(seenAt: moment.now, clock: moment.boot.bootID, wallOffset: moment.wallOffset))
        return lastWorker
    }

    /// Notes that a remote worker asks for messages.
    ///
    /// - Returns: its number; `nil`: it has got nothing yet, or was silent for long.
    @discardableResult
    mutating func renew(_ name: WorkerName, at moment: Moment) -> Int64? {
        rebaseRemoteWorkers(at: moment)
        let offset = moment.wallOffset
        guard let id = workers.first(where: { $0.value.remote != nil && $0.value.name == name.text })?.key,
            let remote = workers[id]?.remote
        else { return nil }
        if (remote.wallOffset - offset).magnitude >= 1_000_000
            || (moment.now.microseconds - remote.seenAt.microseconds).magnitude >= 10_000_000
        {
            workers[id]?.remote?.seenAt = moment.now
            workers[id]?.remote?.wallOffset = offset
        }
        return id
    }

    /// Whether somebody who looks takes a worker for one that is there: a remote one has asked for messages within a minute, or holds a
    /// lease that has not ended.
    func isThere(_ id: Int64, at moment: Moment) -> Bool {
        guard let worker = workers[id], worker.isAlive else { return false }
        guard let remote = worker.remote,
            remote.seenAt <= moment.now - .seconds(60) || remote.seenAt >= moment.now + .seconds(60)
        else { return true }
        let shift = remote.clock == moment.boot.bootID ? 0 : moment.wallOffset - remote.wallOffset
        return messages.values.contains { message in
            guard let hold = message.hold, hold.worker == id else { return false }
            return hold.ends.microseconds + shift > moment.boot.microseconds
        }
    }

    /// Moves what remote workers hold from the clock of an earlier boot to this one's, by the wall clock.
    mutating func rebaseRemoteWorkers(at moment: Moment) {
        let boot = moment.boot
        let end = (boot + Limits.leaseRange.upperBound).microseconds
        for (id, worker) in workers {
            guard let remote = worker.remote, remote.clock != boot.bootID else { continue }
            let shift = moment.wallOffset - remote.wallOffset
            func moved(_ time: BootTime) -> BootTime {
                BootTime(bootID: boot.bootID, microseconds: max(0, min(time.microseconds + shift, end)))
            }
            for sequence in queues.values.flatMap(\.line.leased.elements) {
                guard var hold = messages[sequence]?.hold, hold.worker == id else { continue }
                hold.ends = moved(hold.ends)
                if let request = hold.request { hold.request = (request.madeAt, moved(request.until)) }
                messages[sequence]?.hold = hold
            }
            workers[id]?.remote?.clock = boot.bootID
            workers[id]?.remote?.wallOffset = moment.wallOffset
        }
    }

    /// Forgets remote workers that hold nothing and have not asked for messages for a minute.
    mutating func forgetIdleWorkers(at moment: Moment) {
        let busy = Set(queues.values.flatMap(\.line.leased.elements).compactMap { messages[$0]?.hold?.worker })
        workers = workers.filter { id, worker in
            guard let remote = worker.remote else { return true }
            return busy.contains(id) || remote.seenAt > moment.now - .seconds(60)
        }
    }
}
