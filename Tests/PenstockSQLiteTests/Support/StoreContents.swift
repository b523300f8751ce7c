import Foundation
import GRDB
import PenstockTestKit

@testable import PenstockSQL

/// Everything in a file that a copy takes, in words that do not depend on what the file calls its queues and schedules by itself.
enum StoreContents {
    /// The rows of each table, sorted.
    static func read(_ path: String, sequencesLower offset: Int64 = 0) throws -> [String: [String]] {
        var configuration = Configuration()
        configuration.readonly = true
        return try DatabaseQueue(path: path, configuration: configuration).read { database in
            var contents: [String: [String]] = [:]
            for table in CopiedTable.ofMessages + CopiedTable.ofQueues + [CopiedTable.cascade] {
                contents[table.name] = try rows(of: table, offset, database)
            }
            contents["queue"] = try words(
                "SELECT queue.*, depth.* FROM penstock_queue AS queue JOIN penstock_depth AS depth ON depth.queue_id = queue.id",
                besides: ["id", "queue_id"], database)
            contents["limit"] = try words("SELECT * FROM penstock_limit", besides: [], database)
            return contents
        }
    }

    private static func rows(of table: CopiedTable, _ offset: Int64, _ database: Database) throws -> [String] {
        let columns = table.columns.map { column in
            switch column.kind {
            case .queue: "(SELECT name FROM penstock_queue AS queue WHERE queue.id = found.queue_id)"
            case .sequence: "found.\(column.name) - \(offset) AS \(column.name)"
            case .sequenceOrNone:
                "CASE WHEN found.\(column.name) > 0 THEN found.\(column.name) - \(offset) ELSE found.\(column.name) END"
            case .integer, .real, .text, .bytes: column.name.contains(".") ? column.name : "found.\(column.name)"
            }
        }
        let schedule = "JOIN penstock_schedule AS schedule ON schedule.id = found.schedule_id"
        return try words(
            "SELECT \(columns.joined(separator: ", ")) FROM penstock_\(table.name) AS found \(table.name == "firing" ? schedule : "")",
            besides: [], database)
    }

    private static func words(_ sql: String, besides: Set<String>, _ database: Database) throws -> [String] {
        try Row.fetchAll(database, sql: sql).map { row in
            row.filter { !besides.contains($0.0) }.map { "\($0.0): \($0.1)" }.joined(separator: ", ")
        }.sorted()
    }
}
