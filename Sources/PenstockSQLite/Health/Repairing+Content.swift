import GRDB
import PenstockCore

/// What rows of messages say, and cannot.
extension Repairing {
    /// Takes away headers that count as none already.
    mutating func clearHeaders() throws {
        try database.execute(
            sql: QuarantineSource.log.copy(
                where: ContentInspection.unreadableHeaders, now: "?", reason: "?", withPayload: false),
            arguments: [now.microseconds, Quarantine.Reason.headers])
        try change(
            .wrongHeaders, "COUNT messages whose headers could not be read have none; a copy was set aside.",
            "UPDATE penstock_log SET headers = NULL WHERE \(ContentInspection.unreadableHeaders)")
    }

    /// Puts times right that cannot be. When a message was due nobody knows: it loses its place, and becomes a dead letter.
    mutating func repairTimes() throws {
        for (table, column, source) in ContentInspection.times {
            let isImpossible = ContentInspection.isImpossible(column)
            if source == .scheduled {
                try setAside(
                    .wrongTimes, .scheduled, "are due at a time that cannot be", where: isImpossible,
                    because: Quarantine.Reason.time)
                continue
            }
            if let source {
                try database.execute(
                    sql: source.copy(where: isImpossible, now: "?", reason: "?", withPayload: false),
                    arguments: [now.microseconds, Quarantine.Reason.time])
            }
            try change(
                .wrongTimes,
                "COUNT rows of \(table) had a time \(column) that cannot be, and have the present"
                    + (source == nil ? "." : "; a copy was set aside."),
                "UPDATE \(table) SET \(column) = \(now.microseconds) WHERE \(isImpossible)")
        }
    }
}
