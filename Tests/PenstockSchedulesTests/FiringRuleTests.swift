import PenstockCore
import Testing

@testable import PenstockSchedules

/// What a schedule does about firings that have passed.
@Suite struct FiringRuleTests {
    private func rule(_ spec: String, missed: MissedFirings, window: Duration = .seconds(86_400)) throws -> FiringRule {
        let schedule = Schedule(
            queue: QueueName(stored: "jobs"), spec: spec, message: NewMessage(payload: []), missed: missed,
            window: window)
        return try FiringRule(schedule, zone: .utc, anchor: Timestamp(microseconds: 0))
    }

    /// Nobody looks at each second: what is a minute late at most was not missed, however short the window is.
    @Test(arguments: [Duration.zero, .seconds(10)]) func whatIsHardlyLateFires(window: Duration) throws {
        let rule = try rule("0 * * * *", missed: .all, window: window)
        let due = try moment("2020-01-01 05:00")
        for late in [0, 30, 60] {
            let plan = rule.plan(from: due, at: due + .seconds(late))
            #expect(plan.firings == [due] && plan.missedCount == 0, "\(late) s")
        }
        let missed = rule.plan(from: due, at: due + .seconds(61))
        #expect(missed.firings.isEmpty && missed.missedCount == 1)
        #expect(missed.next == due + .seconds(3600))
    }

    /// All other programs wait meanwhile, so a schedule of each second is not counted through what it has missed in years.
    @Test(arguments: MissedFirings.allCases) func missedFiringsAreCountedToABound(_ missed: MissedFirings) throws {
        let rule = try rule("* * * * * *", missed: missed, window: .seconds(60))
        let now = try moment("2020-01-02")
        let plan = rule.plan(from: now - .seconds(86_400), at: now)
        #expect(plan.missedCount == FiringRule.countMax)
        // Those of the last minute are in time.
        #expect(plan.firings == (0...60).map { now - .seconds(60 - $0) })
        #expect(plan.next == now + .seconds(1))
    }
}
