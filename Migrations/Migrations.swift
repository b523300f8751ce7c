/// The schema, as numbered steps. A step that has been released is never changed; a change is a new step.
package struct Migration: Sendable {
    /// Its number: 1 for the first.
    package let version: Int
    /// Its name, from the file's: `log` for `0001_log.sql`.
    package let name: String
    /// Its statements. The last one records the step in `penstock_migration`, so that a file made by hand and one
    /// made by the program are the same.
    package let sql: String

    /// Every step, in order. A test holds this list against the folder.
    package static let all: [Migration] = [
        Migration(1, "log", PackageResources._001_log_sql),
        Migration(2, "line", PackageResources._002_line_sql),
        Migration(3, "workers", PackageResources._003_workers_sql),
        Migration(4, "views", PackageResources._004_views_sql),
        Migration(5, "insert", PackageResources._005_insert_sql),
        Migration(6, "cursor", PackageResources._006_cursor_sql),
        Migration(7, "handover", PackageResources._007_handover_sql),
        Migration(8, "deletion", PackageResources._008_deletion_sql),
        Migration(9, "answers", PackageResources._009_answers_sql),
        Migration(10, "quarantine", PackageResources._010_quarantine_sql),
        Migration(11, "schedules", PackageResources._011_schedules_sql),
        Migration(12, "pending", PackageResources._012_pending_sql),
        Migration(13, "workflows", PackageResources._013_workflows_sql),
        Migration(14, "groups", PackageResources._014_groups_sql),
        Migration(15, "group_insert", PackageResources._015_group_insert_sql),
        Migration(16, "group_views", PackageResources._016_group_views_sql),
        Migration(17, "running", PackageResources._017_running_sql),
        Migration(18, "turns", PackageResources._018_turns_sql),
        Migration(19, "starts", PackageResources._019_starts_sql),
        Migration(20, "start_views", PackageResources._020_start_views_sql),
        Migration(21, "start_insert", PackageResources._021_start_insert_sql),
        Migration(22, "schedule_starts", PackageResources._022_schedule_starts_sql),
        Migration(23, "rates", PackageResources._023_rates_sql),
        Migration(24, "remote_workers", PackageResources._024_remote_workers_sql),
        Migration(25, "group_starts", PackageResources._025_group_starts_sql),
        Migration(26, "inspecting", PackageResources._026_inspecting_sql),
        Migration(27, "latencies", PackageResources._027_latencies_sql),
        Migration(28, "copy", PackageResources._028_copy_sql),
        Migration(29, "inserts", PackageResources._029_inserts_sql),
        Migration(30, "checks", PackageResources._030_checks_sql),
    ]

    /// What all steps together leave in a new file, as SQL: a tenth of the time that they take one after the other, most of which
    /// goes into tables and views that later ones make anew. `tools/baseline` writes it, and a test holds it against the steps.
    package static let baseline = String(decoding: PackageResources.baseline_sql, as: UTF8.self)

    /// The tables, indexes and views that it makes, but for indexes that are unique: each as its type in `sqlite_schema` and its name.
    package var parts: [String] {
        sql.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 3)
            guard words.count > 3, words[0] == "CREATE", ["TABLE", "INDEX", "VIEW"].contains(words[1]) else {
                return nil
            }
            return "\(words[1].lowercased()) \(words[2])"
        }
    }

    private init(_ version: Int, _ name: String, _ bytes: [UInt8]) {
        self.version = version
        self.name = name
        self.sql = String(decoding: bytes, as: UTF8.self)
    }
}
