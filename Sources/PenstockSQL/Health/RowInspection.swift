package import PenstockCore

/// One part of a look at what the tables say, which all engines have in common.
package struct RowInspection {
    package let name: String
    /// What it looks for.
    package let kinds: Set<HealthFinding.Kind>
    package let inspect: (Connection, inout HealthReport) throws -> Void

    private init(
        _ name: String, _ kinds: Set<HealthFinding.Kind>,
        _ inspect: @escaping (Connection, inout HealthReport) throws -> Void
    ) {
        (self.name, self.kinds, self.inspect) = (name, kinds, inspect)
    }

    /// The line of messages.
    ///
    /// - Parameter said: chooses messages whose keys are not looked at, as SQL.
    package static func ofLine(but said: String? = nil) -> [RowInspection] {
        [
            RowInspection("the queues' depths", [.wrongDepths, .wrongSequence], LineInspection.inspectDepths),
            RowInspection("the messages' places", [.misplaced], LineInspection.inspectPlaces),
            RowInspection("workflows", [.misplaced], WorkflowInspection.inspect),
            RowInspection("unique keys", [.wrongKeys]) { try KeyInspection.inspect($0, but: said, &$1) },
            RowInspection("groups", [.wrongPermits], GroupInspection.inspect),
            RowInspection("messages that expire", [.wrongExpiry], ExpiryInspection.inspect),
        ]
    }

    /// What is beside the line.
    package static var besides: [RowInspection] {
        [
            RowInspection(
                "deletions and what was set aside", [.deletionUnfinished, .quarantined],
                LineInspection.inspectLeftovers),
            RowInspection("the queues' move", [.storeMoved, .copyUnfinished], MoveInspection.inspect),
            RowInspection("cursors", [.strayCursor], CursorInspection.inspect),
            RowInspection("schedules", [.straySchedule, .wrongSchedule], ScheduleInspection.inspect),
        ]
    }
}
