package import PenstockCore

/// Whether every schedule has a queue, and says what one may say. One that has no queue keeps its name from others, and nobody sees it.
package enum ScheduleInspection {
    package static let isStray = "queue_id NOT IN (SELECT id FROM penstock_queue)"
    /// Of so many at most each is a finding of its own.
    private static let examplesMax = 100

    package static func inspect(_ connection: Connection, _ report: inout HealthReport) throws {
        for name in try connection.all(strays, read: { $0.text(0) ?? "" }) {
            report.add(
                .straySchedule, .error,
                "The schedule '\(name)' belongs to a queue that does not exist\(report.repair("sets it aside"))."
            )
        }
        for name in try connection.all(beyondBounds, read: { $0.text(0) ?? "" }) {
            report.add(
                .wrongSchedule, .warning,
                "The schedule '\(name)' puts its messages off by more than a day (scheduleJitterMax), or has them expire after more than ten "
                    + "years (delayMax), and goes by these bounds; say it anew with `penstock schedule add --replace`.")
        }
    }

    private static let strays = Query(
        "SELECT name FROM penstock_schedule WHERE \(isStray) ORDER BY name LIMIT \(examplesMax)")
    private static let beyondBounds = Query(
        """
        SELECT name FROM penstock_schedule WHERE jitter > \(Limits.scheduleJitterMax.wholeMicroseconds)
            OR expires_after > \(Limits.delayMax.wholeMicroseconds)
        ORDER BY name LIMIT \(examplesMax)
        """)
}
