package import PenstockCore

/// What is to be seen to when a message moves on. It travels with the message's row from table to table, and spares all others
/// a look: their marks are 0. The numbers are those of `0012_pending.sql`, `0014_groups.sql`, `0017_running.sql`,
/// `0019_starts.sql` and `0025_group_starts.sql`.
package struct Marks: OptionSet {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static let uniqueKey = Marks(rawValue: 1)
    /// It is a task of a workflow, whose end others may wait for.
    package static let task = Marks(rawValue: 2)
    /// It waits for an event, and has a row in `penstock_awaited`.
    package static let awaitsEvent = Marks(rawValue: 4)
    package static let group = Marks(rawValue: 8)
    /// It expires, and has a row in `penstock_expiry` unless a worker has it.
    package static let expiry = Marks(rawValue: 16)
    /// It holds its unique key only while it waits. A worker's, and one that has found its key taken as it came back, has no
    /// ``uniqueKey`` beside this.
    package static let keyWhileWaiting = Marks(rawValue: 32)
    /// It is leased, its worker is asked to end, and it has a row in `penstock_cancel`.
    package static let cancelRequested = Marks(rawValue: 64)
    /// Somebody waits for its end, and its log is rung for then.
    package static let endAwaited = Marks(rawValue: 128)
    /// It is leased, its worker says how far it has come, and it has a row in `penstock_progress`.
    package static let hasProgress = Marks(rawValue: 256)
    /// It is blocked, and goes first of its group, which is in order: it had the permit, and its work has begun.
    package static let goesFirst = Marks(rawValue: 512)
    /// It is scheduled, since its handler has stopped to wait.
    package static let suspended = Marks(rawValue: 1024)
    /// What a message has only while it is leased.
    package static let ofLease: Marks = [.cancelRequested, .hasProgress]

    /// ``expiry`` and ``group`` of a row of the log that is accepted, as SQL.
    static let acceptedSQL = """
        CASE WHEN expires_at IS NULL THEN 0 ELSE \(expiry.rawValue) END
            + CASE WHEN group_key IS NULL THEN 0 ELSE \(group.rawValue) END
        """

    /// Those of a message as it is accepted.
    package init(of message: NewMessage) {
        self = []
        if let key = message.uniqueKey { formUnion(Self.held(key.scope)) }
        if message.group != nil { insert(.group) }
        if message.expiry != nil { insert(.expiry) }
    }
}

extension Marks {
    /// Those of a message that has just got its unique key.
    package static func held(_ scope: KeyScope) -> Marks {
        switch scope {
        case .untilEnded: .uniqueKey
        case .whileWaiting: [.uniqueKey, .keyWhileWaiting]
        // Nothing that becomes of the message frees the key.
        case .period: []
        }
    }
}
