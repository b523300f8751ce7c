package import PenstockCore

/// Whether every schedule has a queue. One that has none keeps its name from others, and nobody sees it.
package enum ScheduleInspection {
    package static let isStray = "queue_id NOT IN (SELECT id FROM penstock_queue)"
    /// Of so many at most each is a finding of its own.
    private static let examplesMax = 100

    package static func inspect(_ connection: Connection, _ report: inout HealthReport) throws {
        let names = try connection.all(strays, read: { $0.text(0) ?? "" })
        for name in names {
            report.add(
                .straySchedule, .error,
                "The schedule '\(name)' belongs to a queue that does not exist\(report.repair("sets it aside"))."
            )
        }
    }

    private static let strays = Query(
        "SELECT name FROM penstock_schedule WHERE \(isStray) ORDER BY name LIMIT \(examplesMax)")
}
