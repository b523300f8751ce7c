import PenstockCore

/// What is known of a worker that claims through a handle, and is none.
struct MemoryRemoteWorker: Sendable {
    /// When it claimed last, to ten seconds.
    var seenAt: Timestamp
    /// Its clock, and by how much that was behind the wall clock, to a second.
    var clock: String
    var wallOffset: Int64
}

extension MemoryState {
    /// The number of a remote worker, which is made at need.
    mutating func register(_ name: WorkerName, at moment: Moment) -> Int64 {
        rebaseRemoteWorkers(at: moment)
        let offset = moment.wallOffset
        if let id = workers.first(where: { $0.value.remote != nil && $0.value.name == name.text })?.key,
            var remote = workers[id]?.remote
        {
            if (remote.wallOffset - offset).magnitude >= 1_000_000
                || (moment.now.microseconds - remote.seenAt.microseconds).magnitude >= 10_000_000
            {
                remote.seenAt = moment.now
                remote.wallOffset = offset
            }
            workers[id]?.remote = remote
            return id
        }
        forgetIdleWorkers(at: moment)
        lastWorker += 1
        workers[lastWorker] = MemoryWorker(
            name: name.text, startedAt: moment.now, hasClaimed: true,
            remote: MemoryRemoteWorker(seenAt: moment.now, clock: moment.boot.bootID, wallOffset: offset))
        return lastWorker
    }

    /// Moves what remote workers hold from the clock of an earlier boot to this one's, by the wall clock.
    mutating func rebaseRemoteWorkers(at moment: Moment) {
        let boot = moment.boot
        let end = boot.after(Limits.leaseRange.upperBound).microseconds
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

    /// Forgets remote workers that hold nothing and have not claimed for a minute.
    mutating func forgetIdleWorkers(at moment: Moment) {
        let busy = Set(queues.values.flatMap(\.line.leased.elements).compactMap { messages[$0]?.hold?.worker })
        workers = workers.filter { id, worker in
            guard let remote = worker.remote else { return true }
            return busy.contains(id) || remote.seenAt > moment.now - .seconds(60)
        }
    }
}

extension Moment {
    /// By how much the boot clock is behind the wall clock.
    fileprivate var wallOffset: Int64 { boot.microseconds - now.microseconds }
}
