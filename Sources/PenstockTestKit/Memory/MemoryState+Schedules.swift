import PenstockCore
import PenstockSchedules

/// A schedule, and what is known of its firings.
struct MemorySchedule: Sendable {
    let id: Int
    var schedule: Schedule
    var isPaused = false
    /// From where a spec such as `@every 90s` counts.
    var anchor: Timestamp
    /// `nil`: it fires no more.
    var nextDue: Timestamp?
    /// ``nextDue`` is the first firing after this moment.
    var reckonedFrom: Timestamp
    /// What the zone's data was then.
    var zoneData: Int64 = 0
    var problem: String?
    var firedCount: Int64 = 0
    var missedCount: Int64 = 0
    /// The newest first.
    var firings: [FiringRecord] = []

    /// Whether it fires no more, and there is a problem with it. It is begun anew when it is said again.
    var hasGivenUp: Bool { !isPaused && nextDue == nil && problem != nil }
}

extension MemoryState {
    mutating func schedule(
        _ name: ScheduleName, _ change: ScheduleChange, at moment: Moment
    ) throws(PenstockError) -> ScheduleRecord? {
        if case .put(let schedule, let isReplacing) = change {
            return try put(schedule, name, isReplacing: isReplacing, at: moment)
        }
        guard let known = schedules[name] else { throw PenstockError.unknown(name) }
        var skipped: FiringRecord?
        switch change {
        case .put: break
        case .pause: schedules[name]?.isPaused = true
        case .resume:
            if known.isPaused {
                schedules[name]?.isPaused = false
                reckon(name, after: max(moment.now, known.reckonedFrom))
            }
        case .run: skipped = try run(name, known, at: moment)
        case .remove:
            schedules[name] = nil
            return nil
        }
        beginAnewIfAhead(name, at: moment)
        ring(known.schedule.queue)
        var record = schedules[name].map { self.record(name, $0) }
        if let skipped { record?.firings.insert(skipped, at: 0) }
        return record
    }

    func schedules(_ name: ScheduleName?) throws(PenstockError) -> [ScheduleRecord] {
        guard let name else {
            return schedules.sorted { $0.key < $1.key }.map { name, schedule in
                var record = record(name, schedule)
                record.firings = []
                return record
            }
        }
        guard let schedule = schedules[name] else { throw PenstockError.unknown(name) }
        return [record(name, schedule)]
    }

    /// Fires what is due in all queues.
    mutating func fire(at moment: Moment) -> Timestamp? {
        for name in schedules.keys { beginAnewIfAhead(name, at: moment) }
        fireDue(of: nil, at: moment)
        return nextFiring(of: nil, after: moment.now)
    }

    /// When the next schedule fires, of a queue or of all. What is due and has not fired waits for something else than time.
    func nextFiring(of queue: QueueName?, after now: Timestamp) -> Timestamp? {
        schedules.values.filter { !$0.isPaused && (queue == nil || $0.schedule.queue == queue) }.compactMap(\.nextDue)
            .filter { $0 > now }.min()
    }

    mutating func fireDue(of queue: QueueName?, at moment: Moment) {
        while true {
            let due = schedules.filter { name, one in
                guard let next = one.nextDue, queues[one.schedule.queue]?.isDeleting == false else { return false }
                let isDue = !one.isPaused && next <= moment.now && (queue == nil || one.schedule.queue == queue)
                // One whose zone cannot be read stays due.
                return isDue && rule(name) != nil
            }
            let order = due.sorted {
                ($0.value.nextDue ?? moment.now, $0.value.id) < ($1.value.nextDue ?? moment.now, $1.value.id)
            }
            if order.isEmpty { return }
            for (name, one) in order { fire(name, one, at: moment) }
        }
    }

    private mutating func fire(_ name: ScheduleName, _ known: MemorySchedule, at moment: Moment) {
        guard let rule = rule(name), let zone = try? zone(known.schedule) else { return }
        var due = known.nextDue
        if zone.fingerprint != known.zoneData { due = rule.next(after: known.reckonedFrom) }
        if let first = due, first <= moment.now, let fired = lastFired(known, at: moment), fired >= first {
            due = rule.next(after: fired)
        }
        guard let due, due <= moment.now else {
            schedules[name]?.nextDue = due
            schedules[name]?.zoneData = zone.fingerprint
            return
        }
        let plan = rule.plan(from: due, at: moment.now)
        schedules[name]?.problem = nil
        schedules[name]?.nextDue = plan.next
        schedules[name]?.zoneData = zone.fingerprint
        schedules[name]?.reckonedFrom =
            plan.next.map { $0 > moment.now } ?? true ? moment.now : plan.firings.last ?? moment.now
        schedules[name]?.missedCount += Int64(plan.missedCount)
        for due in plan.firings where !known.firings.contains(where: { $0.due == due }) {
            var message = known.schedule.message
            if known.schedule.jitter > .zero {
                let delay = Double(known.schedule.jitter.wholeMicroseconds) * moment.random.nextUnit()
                message.putOff(to: due + .microseconds(Int64(delay)), now: moment.now)
            }
            do {
                let (outcome, sequence) = try accept(message, of: known.schedule, at: moment)
                keep(name, FiringRecord(due: due, firedAt: moment.now, outcome: outcome, sequence: sequence))
            } catch {
                schedules[name]?.problem = error.message
                // A queue that has no groups may have some again; else nobody tries again until the schedule is changed.
                if known.schedule.message.group == nil { schedules[name]?.nextDue = nil }
                return
            }
        }
    }

    /// The last firing on record that is not after now. A clock that was far behind has begun a schedule anew, and this one has fired all
    /// the same.
    private func lastFired(_ known: MemorySchedule, at moment: Moment) -> Timestamp? {
        known.firings.first { $0.due <= moment.now && $0.outcome != .byHand }?.due
    }

    /// Has a schedule go by the clock as it is now when one that was far ahead has seen to it last.
    private mutating func beginAnewIfAhead(_ name: ScheduleName, at moment: Moment) {
        guard let known = schedules[name], !known.isPaused,
            ClockAhead.concerns(
                known.schedule, reckonedFrom: known.reckonedFrom, anchor: known.anchor, at: moment.now)
        else { return }
        schedules[name]?.anchor = min(known.anchor, moment.now)
        reckon(name, after: moment.now)
        schedules[name]?.problem = ClockAhead.problem
        forgetAhead(name, at: moment)
    }

    /// Forgets firings far ahead of the clock but for the newest one.
    private mutating func forgetAhead(_ name: ScheduleName, at moment: Moment) {
        guard let newest = schedules[name]?.firings.first(where: { $0.outcome != .byHand })?.due else { return }
        schedules[name]?.firings.removeAll { $0.due > moment.now + ClockAhead.most && $0.due < newest }
    }

    /// - Returns: what is told, and not kept, of a run of which no message came.
    private mutating func run(
        _ name: ScheduleName, _ known: MemorySchedule, at moment: Moment
    ) throws(PenstockError) -> FiringRecord? {
        _ = try openQueue(known.schedule.queue)
        let (outcome, sequence) = try accept(known.schedule.message, of: known.schedule, at: moment)
        if outcome == .queueFull {
            throw PenstockError(
                .queueFull, "The queue '\(known.schedule.queue)' is full; try again when some messages are worked.")
        }
        var firing = FiringRecord(due: moment.now, firedAt: moment.now, outcome: outcome, sequence: sequence)
        guard outcome == .enqueued else { return firing }
        firing.outcome = .byHand
        keep(name, firing)
        return nil
    }

    private mutating func accept(
        _ message: NewMessage, of schedule: Schedule, at moment: Moment
    ) throws(PenstockError) -> (FiringRecord.Outcome, SequenceNumber?) {
        let receipts: [Receipt]
        do {
            // It was checked when it was said. As it is put off, it may expire later than a message that comes now could.
            receipts = try enqueueChecked([message], to: schedule.queue, durability: .processCrash, at: moment)
        } catch {
            if error.code == .queueFull { return (.queueFull, nil) }
            throw error
        }
        guard let receipt = receipts.first else { return (.queueFull, nil) }
        if receipt.state == .dropped { return (.queueFull, receipt.sequence) }
        return (receipt.skipped ? .skipped : .enqueued, receipt.sequence)
    }

    private mutating func keep(_ name: ScheduleName, _ firing: FiringRecord) {
        if firing.outcome == .enqueued || firing.outcome == .byHand { schedules[name]?.firedCount += 1 }
        var firings = schedules[name]?.firings ?? []
        firings.append(firing)
        firings.sort { $0.due > $1.due }
        schedules[name]?.firings = Array(firings.prefix(Limits.firingsKeptMax))
    }

    private mutating func put(
        _ schedule: Schedule, _ name: ScheduleName, isReplacing: Bool, at moment: Moment
    ) throws(PenstockError) -> ScheduleRecord? {
        _ = try schedule.validated(now: moment.now)
        try GroupKey.refuse([schedule.message], schedule.queue, try openQueue(schedule.queue).policy)
        if schedules[name] != nil, !isReplacing {
            throw PenstockError.exists(name)
        }
        if schedules[name] == nil { try NameRules.refuseUnseen(name.text, of: "schedule") }
        if let known = schedules[name], known.schedule.isSame(as: schedule), !known.hasGivenUp {
            beginAnewIfAhead(name, at: moment)
            return schedules[name].map { record(name, $0) }
        }
        lastSchedule += 1
        var new =
            schedules[name]
            ?? MemorySchedule(id: lastSchedule, schedule: schedule, anchor: moment.now, reckonedFrom: moment.now)
        let stays = schedules[name].map { $0.schedule.hasTimes(of: schedule) && !$0.hasGivenUp } ?? false
        new.schedule = schedule
        if !stays { new.anchor = moment.now }
        schedules[name] = new
        if stays {
            beginAnewIfAhead(name, at: moment)
        } else {
            reckon(name, after: moment.now)
            forgetAhead(name, at: moment)
        }
        ring(schedule.queue)
        return schedules[name].map { record(name, $0) }
    }

    private mutating func reckon(_ name: ScheduleName, after from: Timestamp) {
        guard let rule = rule(name), let known = schedules[name], let zone = try? zone(known.schedule) else { return }
        schedules[name]?.nextDue = rule.next(after: from)
        schedules[name]?.reckonedFrom = from
        schedules[name]?.zoneData = zone.fingerprint
        schedules[name]?.problem = nil
    }

    private func rule(_ name: ScheduleName) -> FiringRule? {
        guard let known = schedules[name], let zone = try? zone(known.schedule) else { return nil }
        return try? FiringRule(known.schedule, zone: zone, anchor: known.anchor)
    }

    private func zone(_ schedule: Schedule) throws(PenstockError) -> Zone {
        try ZoneFolder.system.zone(ZoneName(schedule.zone))
    }

    private func record(_ name: ScheduleName, _ known: MemorySchedule) -> ScheduleRecord {
        ScheduleRecord(
            name: name, schedule: known.schedule, isPaused: known.isPaused,
            nextDue: known.isPaused ? nil : known.nextDue, firedCount: known.firedCount, missedCount: known.missedCount,
            problem: known.problem, firings: known.firings)
    }
}
