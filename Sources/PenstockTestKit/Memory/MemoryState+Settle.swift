import PenstockCore

extension MemoryState {
    /// Whether `lease` is the one under which its message is held now. Every operation on a lease asks this first.
    private func isHeld(_ lease: Lease) -> Bool {
        messages[lease.sequence]?.hold?.token == lease.token
    }

    mutating func settle(_ settlements: [Settlement], at moment: Moment) throws(PenstockError) -> [SettleResult] {
        for settlement in settlements { try settlement.validate() }
        return settlements.map { settlement in
            guard isHeld(settlement.lease),
                let outcome = move(settlement.lease.sequence, by: .settled(settlement.verdict), at: moment)
            else { return .leaseLost }
            return .settled(outcome.state)
        }
    }

    mutating func extend(
        _ leases: [Lease], by duration: Duration, at moment: Moment
    ) throws(PenstockError) -> [Bool] {
        try Lease.validate(duration)
        return leases.map { lease in
            guard isHeld(lease) else { return false }
            messages[lease.sequence]?.hold?.ends = moment.boot.after(duration)
            return true
        }
    }

    /// Takes the messages of dead workers, and then those whose lease has ended.
    mutating func reclaim(at moment: Moment) -> Reclaimed {
        var reclaimed = Reclaimed()
        for sequence in queues.values.flatMap(\.line.leased.elements) {
            guard let message = messages[sequence], let hold = message.hold else { continue }
            if workers[hold.worker]?.isAlive != true {
                move(sequence, by: .lost(.workerDied), at: moment)
                reclaimed.fromDeadWorkers += 1
            } else if message.leaseHasEnded(at: moment.boot) {
                move(sequence, by: .lost(.leaseExpired), at: moment)
                reclaimed.fromExpiredLeases += 1
            }
        }
        workers = workers.filter { $0.value.isAlive }
        return reclaimed
    }

    /// A worker leaves in good order: what it holds goes back, and the attempts do not count.
    mutating func leave(_ worker: Int64, at moment: Moment) {
        for sequence in queues.values.flatMap(\.line.leased.elements)
        where messages[sequence]?.hold?.worker == worker {
            move(sequence, by: .settled(.release), at: moment)
        }
        workers[worker] = nil
    }
}
