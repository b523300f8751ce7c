import Foundation
import GRDB
import PenstockCore
import PenstockSQL

/// Whether the file is sound, and how large it is.
enum FileInspection {
    /// A write-ahead log larger than this is worth a word: after a checkpoint it is cut to a quarter of it.
    private static let walBytesMax: Int64 = 256 * 1024 * 1024

    static func inspect(
        _ database: Database, _ path: String, isStill: Bool, _ report: inout HealthReport
    ) throws {
        report.file.bytes = FileIdentity.size(of: path)
        report.file.walBytes = FileIdentity.size(of: path + "-wal")
        report.file.pageBytes = try number("page_size", database)
        report.file.journalMode =
            try OpenFile.hasWriteAheadLog(database)
            ? "wal" : String.fetchOne(database, sql: "PRAGMA journal_mode") ?? ""
        report.file.givesBackPages = try number("auto_vacuum", database) != 0
        report.file.pageCount = try number("page_count", database)
        report.file.freePageCount = try number("freelist_count", database)
        if report.file.journalMode != "wal" {
            report.add(
                .journalMode, .note,
                "The file's journal mode is '\(report.file.journalMode)'; it becomes 'wal' when a worker opens it.")
        }
        if !report.file.givesBackPages {
            report.add(
                .keepsPages, .note,
                "The file never shrinks; `sqlite3 \(path) 'PRAGMA auto_vacuum = INCREMENTAL; VACUUM'` lets it.")
        }
        for message in try integrityCheck(database, path, isStill, report.file) where message != "ok" {
            report.add(
                .damaged, .error, "SQLite finds the file damaged: \(oneLine(message)); restore it from a copy.")
        }
    }

    /// What SQLite says of every page. It asks whether values are ones that their columns allow only on a connection that
    /// may write, as a repair does; this one cannot, and as it is not the last to close, it leaves the log as it is.
    private static func integrityCheck(
        _ database: Database, _ path: String, _ isStill: Bool, _ file: FileHealth
    ) throws -> [String] {
        var configuration = HealthInspection.configuration(readonly: false)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA query_only = 1") }
        guard file.journalMode == "wal", !isStill, access(path, W_OK) == 0,
            let other = try? DatabaseQueue(path: path, configuration: configuration)
        else { return try integrityCheck(database) }
        defer { try? other.close() }
        return try other.writeWithoutTransaction(integrityCheck)
    }

    private static func integrityCheck(_ database: Database) throws -> [String] {
        let rows = try String.fetchCursor(database, sql: "PRAGMA integrity_check")
        var messages: [String] = []
        do {
            while let message = try rows.next() { messages.append(message) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT && !messages.isEmpty {
            // The check itself goes no further. What it has said until then is not lost.
        }
        return messages
    }

    /// The first things that SQLite says of damage, without its heading, and on one line.
    static func oneLine(_ message: String) -> String {
        let lines = message.split(separator: "\n").filter { !$0.hasPrefix("*** in database") }
        let rest = lines.count > 3 ? ", and \(lines.count - 3) more" : ""
        return lines.prefix(3).joined(separator: ", ") + rest
    }

    /// Tries one checkpoint that waits for nobody. What it leaves, a reader holds.
    static func inspectWAL(_ path: String, _ report: inout HealthReport) {
        guard report.file.journalMode == "wal", access(path, W_OK) == 0 else { return }
        var configuration = HealthInspection.configuration(readonly: false)
        configuration.prepareDatabase { OpenFile.leaveWriteAheadLog($0, false) }
        guard let file = try? DatabaseQueue(path: path, configuration: configuration),
            let row = try? file.writeWithoutTransaction({ database in
                try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(PASSIVE)")
            })
        else { return }
        // The first column says that another checkpoint was under way: then the numbers say nothing.
        guard row[0] == 0, let pages = row[1] as Int?, let done = row[2] as Int?, pages >= 0 else { return }
        report.file.walPages = pages
        report.file.walPagesCheckpointed = done
        if done < pages {
            report.add(
                .walHeld, .warning,
                "A reader that does not end its transaction holds \(pages - done) of \(pages) pages in the write-ahead "
                    + "log, which grows until it does; end that program.")
        } else if report.file.walBytes > walBytesMax {
            report.add(
                .walHeld, .note,
                "The write-ahead log has \(report.file.walBytes) bytes; it is cut at the next write after a moment "
                    + "without readers.")
        }
    }

    private static func number(_ pragma: String, _ database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA \(pragma)") ?? 0
    }
}
