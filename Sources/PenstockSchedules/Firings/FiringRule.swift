package import PenstockCore

/// When one schedule fires: its spec in its zone, within its bounds.
package struct FiringRule: Sendable {
    let spec: ScheduleSpec
    let zone: Zone
    let anchor: Timestamp
    let missed: MissedFirings
    let window: Duration
    let starts: Timestamp?
    let ends: Timestamp?

    /// A firing that is later than this was missed.
    package static let grace = Duration.seconds(60)
    /// Firings of one schedule in one transaction at most. The others follow in the next ones.
    package static let stepMax = 100
    /// Missed firings are counted so far, and no further.
    static let countMax = 1000

    /// - Parameters:
    ///   - zone: the data of the schedule's zone.
    ///   - anchor: from where `@every` counts.
    package init(_ schedule: Schedule, zone: Zone, anchor: Timestamp) throws(PenstockError) {
        spec = try ScheduleSpec(schedule.spec)
        self.zone = zone
        self.anchor = schedule.starts ?? anchor
        missed = schedule.missed
        window = schedule.window
        starts = schedule.starts
        ends = schedule.ends
    }

    /// A spec alone, without bounds.
    package init(_ spec: ScheduleSpec, zone: Zone, anchor: Timestamp) {
        self.spec = spec
        self.zone = zone
        self.anchor = anchor
        missed = .one
        window = .zero
        starts = nil
        ends = nil
    }

    /// The first firing after `moment`; `nil` when there is none.
    package func next(after moment: Timestamp) -> Timestamp? {
        let from = starts.map { max(moment, $0 - .microseconds(1)) } ?? moment
        guard let next = spec.next(after: from, in: zone, anchor: anchor) else { return nil }
        if let ends, next > ends { return nil }
        return next
    }

    /// What is to be done at `now`, which is not before `due`, the next firing as it was reckoned.
    package func plan(from due: Timestamp, at now: Timestamp) -> FiringPlan {
        var plan = FiringPlan()
        let late = now - FiringRule.grace
        var first: Timestamp? = due
        let horizon = missed == .all ? min(late, now - window) : late
        if due < horizon {
            plan.missedCount = count(from: due, before: horizon)
            first = next(after: horizon - .microseconds(1))
        }
        while let next = first, next <= now, plan.firings.count < FiringRule.stepMax {
            plan.firings.append(next)
            first = self.next(after: next)
        }
        if missed == .one, plan.firings.isEmpty, plan.missedCount > 0 {
            plan.firings = [newest(from: due, before: late)]
            plan.missedCount -= 1
        }
        plan.next = first
        return plan
    }

    private func count(from due: Timestamp, before end: Timestamp) -> Int {
        var count = 0
        var at: Timestamp? = due
        while let moment = at, moment < end, count < FiringRule.countMax {
            count += 1
            at = next(after: moment)
        }
        return count
    }

    /// The last firing before `end`; `due` is one. It halves the stretch, as one of years may have millions.
    private func newest(from due: Timestamp, before end: Timestamp) -> Timestamp {
        var (found, open) = (due, end)
        while true {
            // No firing lies between `open` and `end`.
            let middle = found + .microseconds((open - found).wholeMicroseconds / 2)
            if let next = next(after: middle), next < end {
                found = next
            } else if middle > found {
                open = middle
            } else {
                return found
            }
        }
    }
}

/// What a schedule is to do now.
package struct FiringPlan: Equatable, Sendable {
    /// The firings, the oldest first.
    package var firings: [Timestamp] = []
    /// How many were missed and are left out; of very many only ``FiringRule/countMax`` are counted.
    package var missedCount = 0
    /// When it fires after these; may be past already, where there are many. `nil`: never.
    package var next: Timestamp?

    /// Makes one that does nothing.
    package init() {}
}

extension Schedule {
    /// Checks everything, the spec and the zone included, and reads the zone.
    package func validated(now: Timestamp) throws(PenstockError) -> Zone {
        try validate(now: now)
        _ = try ScheduleSpec(spec)
        return try ZoneFolder.system.zone(ZoneName(zone))
    }
}
