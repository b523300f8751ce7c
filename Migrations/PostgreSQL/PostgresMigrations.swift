/// The schema in PostgreSQL, as numbered steps. A step that has been released is never changed; a change is a new step.
package struct PostgresMigration: Sendable {
    /// Its number: 1 for the first.
    package let version: Int
    /// Its name, from the file's: `log` for `0002_log.sql`.
    package let name: String
    /// Its statements, with `@schema@` where the quoted name of the schema belongs. The last one records the step in
    /// `penstock_migration`.
    package let sql: String

    /// Every step, in order. A test holds this list against the folder.
    package static let all: [PostgresMigration] = [
        PostgresMigration(1, "functions", PackageResources._001_functions_sql),
        PostgresMigration(2, "log", PackageResources._002_log_sql),
        PostgresMigration(3, "line", PackageResources._003_line_sql),
        PostgresMigration(4, "workers", PackageResources._004_workers_sql),
        PostgresMigration(5, "workflows", PackageResources._005_workflows_sql),
        PostgresMigration(6, "groups", PackageResources._006_groups_sql),
        PostgresMigration(7, "schedules", PackageResources._007_schedules_sql),
        PostgresMigration(8, "views", PackageResources._008_views_sql),
        PostgresMigration(9, "more_views", PackageResources._009_more_views_sql),
        PostgresMigration(10, "insert", PackageResources._010_insert_sql),
        PostgresMigration(11, "enqueue", PackageResources._011_enqueue_sql),
        PostgresMigration(12, "schedule_insert", PackageResources._012_schedule_insert_sql),
        PostgresMigration(13, "servers", PackageResources._013_servers_sql),
        PostgresMigration(14, "old_snapshots", PackageResources._014_old_snapshots_sql),
        PostgresMigration(15, "settles", PackageResources._015_settles_sql),
        PostgresMigration(16, "copy", PackageResources._016_copy_sql),
        PostgresMigration(17, "handover", PackageResources._017_handover_sql),
        PostgresMigration(18, "moments", PackageResources._018_moments_sql),
        PostgresMigration(19, "checks", PackageResources._019_checks_sql),
        PostgresMigration(20, "texts", PackageResources._020_texts_sql),
    ]

    private init(_ version: Int, _ name: String, _ bytes: [UInt8]) {
        self.version = version
        self.name = name
        self.sql = String(decoding: bytes, as: UTF8.self)
    }
}
