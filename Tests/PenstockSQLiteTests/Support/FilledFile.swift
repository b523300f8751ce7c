import Foundation
import GRDB
import PenstockCore
import PenstockTestKit

@testable import PenstockSQL
@testable import PenstockSQLite

/// A file with much of everything beside the little that is wanted, made once: to fill it takes seconds.
enum FilledFile {
    static let content = Task { try await make() }

    private static func make() async throws -> Data {
        let folder = TemporaryFolder()
        let path = folder.file("queue.db")
        let pool = try DatabasePool(path: path)
        let store = try await SQLiteStore.open(pool: pool)
        try await store.configure(.jobs, .create(.bounded(100_000, .dropOldest), ifAbsent: false))
        try await store.configure(.mail, .create(QueuePolicy(), ifAbsent: false))
        for queue in [QueueName.jobs, .mail] {
            let later = messages(2000, due: .after(.seconds(86_400)))
            _ = try await store.enqueue(later, to: queue, durability: .processCrash)
            _ = try await store.enqueue(messages(2000), to: queue, durability: .processCrash)
            let claimed = try await store.take(2000, from: queue)
            _ = try await store.settle(
                claimed.map { Settlement($0.lease, $0.lease.sequence.rawValue % 10 == 0 ? .dead(error: "e") : .done) })
        }
        try await store.close()
        try pool.close()
        return try Data(contentsOf: URL(filePath: path))
    }

    static func messages(_ count: Int, due: Due = .now) -> [NewMessage] {
        (1...count).map { .text("\($0)", priority: $0 % 5, due: due) }
    }
}
