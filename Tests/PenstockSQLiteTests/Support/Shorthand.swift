import Foundation
import GRDB
import PenstockCore
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

/// Takes a file of the newest schema back to version 9.
let toSchema9 = """
    DROP TRIGGER penstock_message_dropped; DROP VIEW penstock_dropping;
    CREATE TRIGGER penstock_messages_insert_deleting INSTEAD OF INSERT ON penstock_messages BEGIN SELECT 1; END;
    DROP TRIGGER penstock_deleted_queue_cursors;
    DROP TRIGGER penstock_schedules_insert_moving; DROP TRIGGER penstock_schedules_update_moving;
    DROP TRIGGER penstock_schedules_delete_moving;
    DROP VIEW penstock_origins; DROP TRIGGER penstock_moving; DROP TRIGGER penstock_queue_deleted_arriving;
    DROP TABLE penstock_arriving; DROP TABLE penstock_arrival; DROP TABLE penstock_store;
    ALTER TABLE penstock_state DROP COLUMN moving;
    DROP INDEX penstock_log_unique; DROP INDEX penstock_ready_since; DROP INDEX penstock_ready_sequence; DROP INDEX penstock_queue_share_limit;
    DROP VIEW penstock_latencies; DROP VIEW penstock_workers; DROP TABLE penstock_remote_worker;
    DROP VIEW penstock_schedule_check; DROP VIEW penstock_schedule_start_check; DROP VIEW penstock_dropped_next;
    DROP VIEW penstock_weights; DROP TRIGGER penstock_queue_fair; DROP TRIGGER penstock_queue_fair_inserted;
    DROP TRIGGER penstock_queue_key_rate; DROP TABLE penstock_expiry; DROP TABLE penstock_unique_period;
    DROP TABLE penstock_rate; DROP TABLE penstock_group_rate; DROP TABLE penstock_fair; DROP TABLE penstock_share;
    DROP TABLE penstock_weight; DROP VIEW penstock_arrived;
    DROP VIEW penstock_groups; DROP VIEW penstock_limits; DROP TRIGGER penstock_queue_grouped;
    DROP TRIGGER penstock_queue_regroup; DROP TRIGGER penstock_queue_share_limit_inserted;
    DROP TRIGGER penstock_queue_share_limit_updated; DROP TABLE penstock_permit; DROP TABLE penstock_blocked;
    DROP TABLE penstock_group_pause; DROP TABLE penstock_regroup; DROP TABLE penstock_limit;
    DROP VIEW penstock_cancels; DROP VIEW penstock_running; DROP TABLE penstock_cancel; DROP TABLE penstock_progress;
    DROP VIEW penstock_tasks; DROP VIEW penstock_dependencies; DROP VIEW penstock_workflows; DROP VIEW penstock_steps;
    DROP VIEW penstock_events; DROP TRIGGER penstock_dropped_task; DROP TABLE penstock_workflow; DROP TABLE penstock_task;
    DROP TABLE penstock_dependency; DROP TABLE penstock_cascade; DROP TABLE penstock_result; DROP TABLE penstock_step;
    DROP TABLE penstock_event; DROP TABLE penstock_awaited; DROP TABLE penstock_pending;
    DROP VIEW penstock_firings; DROP VIEW penstock_schedules; DROP TRIGGER penstock_queue_deleted_schedules;
    DROP VIEW penstock_position; DROP TABLE penstock_firing; DROP TABLE penstock_schedule;
    DELETE FROM penstock_migration WHERE version > 9; DROP VIEW penstock_quarantined; DROP TABLE penstock_quarantine
    """

extension SQLiteStore {
    /// Accepts messages within an application's own transaction.
    func enqueue(_ messages: [NewMessage], to queue: QueueName, in database: Database) throws -> [Receipt] {
        try PoolTransaction(self, database).enqueue(messages, to: queue)
    }
}
