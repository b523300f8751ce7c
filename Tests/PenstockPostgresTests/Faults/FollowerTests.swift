import PenstockCore
import PenstockSQL
import Testing

@testable import PenstockPostgres

/// A reader of the log beside writers in other processes.
@Suite(
    .serialized, .timeLimit(.minutes(2)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct FollowerTests {
    @Test func readsEachMessageOnceAndInOrderWhileOthersWrite() async throws {
        let url = try PostgresServer.shared.get().url(schema: PostgresServer.newSchema())
        let queue = try QueueName("mail")
        let reader = try await PostgresStore.open(url: url)
        try await reader.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        let (writerCount, callCount) = (4, 150)
        var read: [LogRecord] = []
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writerCount {
                group.addTask {
                    let store = try await PostgresStore.open(url: url)
                    for call in 0..<callCount {
                        let messages = (0...(call % 3)).map {
                            NewMessage(payload: Array("\(writer)-\(call)-\($0)".utf8))
                        }
                        _ = try await store.enqueue(messages, to: queue, durability: .processCrash)
                    }
                    try await store.close()
                }
            }
            let wanted = writerCount * (0..<callCount).reduce(0) { $0 + 1 + $1 % 3 }
            var place = SequenceNumber(0)
            while read.count < wanted {
                let page = try await reader.log(LogQuery(queue: queue, .after(place), limit: 7))
                read += page.records
                // What the store has given by then has been read, or is on a later page.
                place = page.isAtEnd ? page.end : page.records.last?.sequence ?? place
            }
            try await group.waitForAll()
        }
        #expect(zip(read, read.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
        #expect(Set(read.map { String(decoding: $0.payload, as: UTF8.self) }).count == read.count)
        #expect(try await reader.log(LogQuery(queue: queue, .last(0))).accepted == read.count)
        try await reader.close()
    }
}
