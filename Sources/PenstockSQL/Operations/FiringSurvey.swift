import PenstockCore
import PenstockSchedules

/// Schedules whose next firing is no longer what it was reckoned to be, though nobody has changed them.
enum FiringSurvey {
    /// Reckons anew what was reckoned with data of zones that has changed since, or by a clock that was far ahead.
    static func perform(_ zones: ZoneReader = ZoneReader(), in transaction: Transaction) throws {
        let connection = transaction.connection
        let ids = try connection.all(select, latest(transaction.now)) { found -> Int64? in
            let isZone = found.integer(2) != 0 && found.integer(3) == 0
            guard isZone else { return found.integer(0) }
            let zone = try? zones.zone(ZoneName(found.text(1) ?? ""))
            return zone.map { $0.fingerprint == found.integer(2) } ?? true ? nil : found.integer(0)
        }
        for id in ids.compactMap(\.self) {
            if let row = try Firing.row(id, connection) { try Firing.reckon(row, zones, in: transaction) }
        }
    }

    /// Whether there may be such schedules.
    static func isNeeded(at now: Timestamp, _ connection: Connection) throws -> Bool {
        try connection.has(any, latest(now))
    }

    private static func latest(_ now: Timestamp) -> Value { .integer((now + ClockAhead.most).microseconds) }

    private static let isAhead =
        "reckoned_from > ?1 OR anchor > ?1 AND starts_at IS NULL AND lower(spec) LIKE '%@every%'"
    private static let select = Query(
        "SELECT id, zone, coalesce(zone_data, 0), CASE WHEN \(isAhead) THEN 1 ELSE 0 END FROM penstock_schedule "
            + "WHERE paused = 0 AND (zone_data <> 0 OR \(isAhead)) AND next_due IS NOT NULL AND \(Firing.open)")
    private static let any = Query("SELECT 1 FROM penstock_schedule WHERE zone_data <> 0 OR \(isAhead) LIMIT 1")
}
