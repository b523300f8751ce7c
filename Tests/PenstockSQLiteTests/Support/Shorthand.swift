import Foundation
import GRDB
import PenstockCore
import PenstockMigrations
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

extension QueueName {
    static let jobs = QueueName(stored: "jobs")
    static let mail = QueueName(stored: "mail")
}

extension NewMessage {
    static func text(
        _ text: String, priority: Int = 0, due: Due = .now, key: String? = nil, onConflict: KeyConflict = .skip,
        group: String? = nil, expiry: Expiry? = nil
    ) -> NewMessage {
        NewMessage(
            payload: Array(text.utf8), priority: priority, due: due,
            uniqueKey: key.map { UniqueKey($0, onConflict: onConflict) }, group: group, expiry: expiry)
    }

    /// A payload of several pages, all of one digit.
    static func long(_ digit: Int) -> NewMessage {
        text(String(repeating: "\(digit)", count: 20_000))
    }
}

extension QueuePolicy {
    static func bounded(_ capacity: Int, _ whenFull: OverflowPolicy) -> QueuePolicy {
        QueuePolicy(capacity: Capacity(capacity, whenFull: whenFull))
    }
}

extension SQLiteStore {
    /// A store on the file at `path` with a queue called `jobs`.
    static func openWithJobs(
        _ path: String, _ policy: QueuePolicy = QueuePolicy(), options: Options = Options()
    ) async throws -> SQLiteStore {
        let store = try await open(path: path, options: options)
        try await store.configure(.jobs, .create(policy, ifAbsent: true))
        return store
    }

    @discardableResult
    func put(
        _ message: NewMessage, to queue: QueueName = .jobs, durability: Durability = .processCrash
    ) async throws -> Receipt {
        let receipts = try await enqueue([message], to: queue, durability: durability)
        return try #require(receipts.first)
    }

    func take(
        _ limit: Int = 1, from queue: QueueName = .jobs, lease: Duration = .seconds(30)
    ) async throws -> [ClaimedMessage] {
        try await claim(ClaimRequest(queue: queue, limit: limit, lease: lease)).messages
    }

    /// The texts of everything in the log, in order.
    func texts() async throws -> [String] {
        try await messages(MessageQuery(limit: Limits.rowsMax, withPayload: true)).map { record in
            String(decoding: record.payload ?? [], as: UTF8.self)
        }
    }

    func depths(_ queue: QueueName = .jobs) async throws -> Depths {
        try #require(try await status(of: queue).queues.first).depths
    }
}

/// Expects `body` to throw a ``PenstockError`` of that code, with something to read in it.
@discardableResult
func expect(
    _ code: PenstockError.Code, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> some Any
) async -> PenstockError? {
    do {
        let answer = try await body()
        Issue.record("Expected \(code.rawValue), got \(answer).", sourceLocation: sourceLocation)
    } catch let error as PenstockError {
        #expect(error.code == code, "\(error.message)", sourceLocation: sourceLocation)
        #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record(error, "Expected \(code.rawValue).", sourceLocation: sourceLocation)
    }
    return nil
}

/// The bytes of a file.
func bytes(of path: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path))
}

/// Damages the payload of ``PenstockCore/NewMessage/long(_:)`` where only a check of the whole file reads.
func damagePayload(_ digit: Int, in path: String) throws {
    var content = try bytes(of: path)
    let place = try #require(content.range(of: Data("\(digit)".utf8.flatMap { repeatElement($0, count: 4000) })))
    // The number of the next page of the payload, which stands at the page's beginning.
    let page = place.lowerBound / 4096 * 4096
    content.replaceSubrange(page..<page + 4, with: [0x7F, 0xFF, 0xFF, 0xFF])
    try content.write(to: URL(fileURLWithPath: path))
}

/// The mode bits of a file.
func mode(of path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.posixPermissions] as? Int)
}

/// Makes a file with that version of the schema, as a program of its time did.
func makeOlderFile(version: Int, at path: String) async throws {
    let database = try DatabaseQueue(path: path)
    try await database.writeWithoutTransaction { database in
        try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
        for step in Migration.all.prefix(version) { try database.execute(sql: step.sql) }
    }
    try database.close()
}

extension SQLiteStore {
    /// Accepts messages within an application's own transaction.
    func enqueue(_ messages: [NewMessage], to queue: QueueName, in database: Database) throws -> [Receipt] {
        try PoolTransaction(self, database).enqueue(messages, to: queue)
    }
}
