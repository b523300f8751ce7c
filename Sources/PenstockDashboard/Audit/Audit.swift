import Foundation
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// The acts of visitors, and whose each was: a log of its own, the queue `penstock.audit`, to which every act is written before it happens.
///
/// An act that cannot be written down is not carried out. What came of it is a second entry; where that is missing, the server died
/// in between, and whether the act has happened the store itself says. Nobody works this queue: its messages are done as they
/// are written, and stay as long as its retention says.
final class Audit: Sendable {
    /// The queue.
    static let queue = ReservedQueues.audit
    /// How long entries stay, unless the queue is told otherwise.
    private static let age = Duration.seconds(400 * 24 * 3600)

    private let store: any MessageStore

    init(_ store: any MessageStore) {
        self.store = store
    }

    /// Writes down that somebody does something.
    ///
    /// - Returns: the entry, for what comes of it.
    func began(_ act: String, on subject: String, queue: QueueName?, by name: String) async throws -> SequenceNumber {
        let entry = JSONValue.object([
            "act": .string(act), "on": .string(subject), "queue": .optional(queue) { .string($0.text) },
            "by": .string(name),
        ])
        return try await append(entry)
    }

    /// Writes down what came of it.
    func ended(_ entry: SequenceNumber, _ outcome: String, isDone: Bool) async throws {
        _ = try await append(
            .object([
                "of": .integer(entry.rawValue), "outcome": .string(outcome), "isDone": .bool(isDone),
            ]))
    }

    private func append(_ value: JSONValue) async throws -> SequenceNumber {
        let message = NewMessage(payload: Array(value.text.utf8), headers: ["content-type": "application/json"])
        let receipts: [Receipt]
        do {
            receipts = try await store.append([message], to: Self.queue, unless: nil, durability: .powerLoss)
        } catch let error as PenstockError where error.code == .unknownQueue {
            let policy = QueuePolicy(retention: Retention(age: Self.age))
            try await store.configure(Self.queue, .create(policy, ifAbsent: true))
            receipts = try await store.append([message], to: Self.queue, unless: nil, durability: .powerLoss)
        }
        guard let receipt = receipts.first else { throw PenstockError(.storage, "The audit log took no entry.") }
        return receipt.sequence
    }
}

/// An entry as it was written down, with what came of it.
struct AuditEntry {
    var sequence: SequenceNumber
    var at: Timestamp
    var act: String
    var subject: String
    var queue: String?
    var by: String
    var outcome: String?
    var isDone: Bool?

    private struct Written: Decodable {
        var act: String?
        var on: String?
        var queue: String?
        var by: String?
        var of: Int64?
        var outcome: String?
        var isDone: Bool?
    }

    /// The entries that `records` of the queue's log hold, the newest first, with what came of them as far as that is among the
    /// records. What is no entry is left out: commands at the store itself may write into any queue.
    static func read(_ records: [LogRecord]) -> [AuditEntry] {
        let decoder = JSONDecoder()
        var entries = records.reversed().compactMap { record -> AuditEntry? in
            guard let written = try? decoder.decode(Written.self, from: Data(record.payload)), written.of == nil,
                let act = written.act, let by = written.by
            else { return nil }
            return AuditEntry(
                sequence: record.sequence, at: record.enqueuedAt, act: act, subject: written.on ?? "",
                queue: written.queue, by: by)
        }
        complete(&entries, by: records)
        return entries
    }

    /// Looks through what follows an entry of the log for what came of those of `entries` that nothing is known of yet. The server may
    /// have died, so that nothing ever comes of one, or others have done much while it was under way.
    ///
    /// - Parameter lookMax: after about so many records the look ends.
    /// - Returns: false when there are more records than that, and something is still not known.
    static func complete(
        _ entries: inout [AuditEntry], after place: SequenceNumber, in store: any MessageStore, lookMax: Int
    ) async throws -> Bool {
        var (place, looked) = (place, 0)
        while entries.contains(where: { $0.outcome == nil }) {
            if looked >= lookMax { return false }
            let query = LogQuery(queue: Audit.queue, .after(place), limit: min(lookMax - looked, lookStep))
            let page = try await store.log(query)
            complete(&entries, by: page.records)
            guard !page.isAtEnd, let last = page.records.last else { return true }
            (place, looked) = (last.sequence, looked + page.records.count)
        }
        return true
    }

    /// How many records one call of the store gives to a look.
    private static let lookStep = 1000

    private static func complete(_ entries: inout [AuditEntry], by records: [LogRecord]) {
        var open: [Int64: Int] = [:]
        for index in entries.indices where entries[index].outcome == nil {
            open[entries[index].sequence.rawValue] = index
        }
        let decoder = JSONDecoder()
        for record in records {
            guard let written = try? decoder.decode(Written.self, from: Data(record.payload)),
                let entry = written.of, let index = open[entry], entries[index].outcome == nil
            else { continue }
            entries[index].outcome = written.outcome
            entries[index].isDone = written.isDone
        }
    }
}
