import Foundation
import GRDB

/// A program that has the file open and knows nothing of Penstock: it sees tables, and takes SQLite's own locks only.
final class ForeignProgram: Sendable {
    private let database: DatabaseQueue

    init(_ path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.allowsUnsafeTransactions = true
        database = try DatabaseQueue(path: path, configuration: configuration)
    }

    func run(_ sql: String, _ arguments: StatementArguments = []) async throws {
        try await database.writeWithoutTransaction { try $0.execute(sql: sql, arguments: arguments) }
    }

    /// Runs one statement, which is kept for the next time: what is run often is to be prepared once.
    func run(kept sql: String, _ arguments: StatementArguments) async throws {
        try await database.writeWithoutTransaction { try $0.cachedStatement(sql: sql).execute(arguments: arguments) }
    }

    /// Each row as text, its columns apart by `|`.
    func rows(_ sql: String) async throws -> [String] {
        try await database.writeWithoutTransaction { database in
            try Row.fetchAll(database.cachedStatement(sql: sql)).map { row in
                row.databaseValues.map(Self.text).joined(separator: "|")
            }
        }
    }

    func number(_ sql: String) async throws -> Int {
        try await database.writeWithoutTransaction { try Int.fetchOne($0, sql: sql) ?? 0 }
    }

    func close() throws {
        try database.close()
    }

    private static func text(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .null: "NULL"
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .string(let text): text
        case .blob(let data): "x'" + data.map { String(format: "%02x", $0) }.joined() + "'"
        }
    }
}
