public import PenstockCore
import PenstockSchedules

extension SQLStore {
    /// Makes, changes, runs or removes a schedule, as ``MessageStore/schedule(_:_:)`` says.
    @discardableResult
    public func schedule(_ name: ScheduleName, _ change: ScheduleChange) async throws -> ScheduleRecord? {
        try Task.checkCancellation()
        var weight = 1
        if case .put(let schedule, _) = change {
            _ = try schedule.validated(now: core.time.now)
            weight = self.weight(of: [schedule.message])
        }
        return try await core.writer.perform(durability: .powerLoss, weight: weight) {
            try Scheduling.perform(change, name, in: $0)
        }
    }

    /// Fires what is due, as ``MessageStore/fire()`` says, in steps, each a transaction of its own. When nothing is due, this is
    /// one read. Once in an hour, and when the clock was set, it looks whether what was reckoned still holds.
    public func fire() async throws -> Timestamp? {
        var mustSurvey = core.surveyTime.isDue(by: core.time)
        while true {
            let surveys = mustSurvey
            mustSurvey = false
            do {
                let step = try await fireStep(surveys: surveys)
                if !step.hasMore { return step.next }
            } catch {
                if surveys { core.surveyTime.failed() }
                throw error
            }
        }
    }

    private func fireStep(surveys: Bool) async throws -> FiringStep {
        try await core.writer.perform(
            weight: Firing.stepMax,
            check: { connection, _, now -> FiringStep? in
                if try Firing.hasDue(of: nil, at: now, connection) { return nil }
                if try surveys && FiringSurvey.isNeeded(at: now, connection) { return nil }
                return FiringStep(hasMore: false, next: try Firing.nextDue(of: nil, after: now, connection))
            },
            { transaction in
                if surveys { try FiringSurvey.perform(in: transaction) }
                return FiringStep(
                    hasMore: try Firing.fireDue(of: nil, in: transaction),
                    next: try Firing.nextDue(of: nil, after: transaction.now, transaction.connection))
            })
    }
}

private struct FiringStep: Sendable {
    var hasMore: Bool
    var next: Timestamp?
}
