package import PenstockCore

/// Schedules that a clock has seen to which was far ahead: until it were that late they would not fire.
///
/// A clock that is set back a little has nothing fire again, and what was seen to is a moment ahead until it has come. One that
/// was wrong by years, if only for a moment, would leave a schedule silent for as long.
package enum ClockAhead {
    /// A schedule that was seen to further ahead than this is begun anew.
    package static let most = Duration.seconds(86_400)

    /// What is on record with a schedule that was begun anew, until it fires.
    package static let problem =
        "The clock was more than a day ahead when this schedule was seen to last, so it fires by the clock as it is now."

    /// Whether a schedule was seen to by a clock that was far ahead of `now`.
    ///
    /// - Parameters:
    ///   - reckonedFrom: the last moment that was seen to.
    ///   - anchor: from where `@every` counts; nothing else looks at it.
    package static func concerns(
        _ schedule: Schedule, reckonedFrom: Timestamp?, anchor: Timestamp, at now: Timestamp
    ) -> Bool {
        let latest = now + most
        if let reckonedFrom, reckonedFrom > latest { return true }
        return anchor > latest && schedule.starts == nil && schedule.spec.lowercased().contains("@every")
    }
}
