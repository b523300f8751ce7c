/// What rings at a bucket, for a store that asks for each ring on its own, as a client of a server does.
package enum Bell: UInt8, CaseIterable, Sendable {
    /// Whatever changes in a queue's log.
    case log
    /// There may be room in the line.
    case room
    /// There may be messages to claim.
    case work
    /// Those who work may be asked to end (``Notices``).
    case notice

    /// The bell of a change.
    init(_ change: Wakeups.Change) {
        self =
            switch change {
            case .log: .log
            case .room: .room
            case .work: .work
            }
    }

    /// What it tells of the line; `nil`: it is the bell of ``Notices``.
    package var change: Wakeups.Change? {
        switch self {
        case .log: .log
        case .room: .room
        case .work: .work
        case .notice: nil
        }
    }
}
