import Foundation
import PenstockCore
import PenstockProcesses
import PenstockSQL
import Testing

@testable import PenstockPostgres

/// A reader of the log beside writers in other processes.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."))
struct FollowerTests {
    @Test func readsEachMessageOnceAndInOrderWhileOthersWrite() async throws {
        let url = try PostgresServer.newURL()
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

    /// `PENSTOCK_FOLLOWED` says how many messages there are: `tools/torture --followed`.
    static let count = max(1, Int(ProcessInfo.processInfo.environment["PENSTOCK_FOLLOWED"] ?? "") ?? 40_000)

    /// Two processes that keep their places in cursors; each dies several times, and goes on from there.
    @Test(.timeLimit(.minutes(10))) func twoFollowersWithCursorsMissNothingBesideEightWriters() async throws {
        let url = try PostgresServer.newURL()
        let queue = try QueueName("mail")
        let first = try await PostgresStore.open(url: url)
        try await first.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        let (writerCount, batch) = (8, 100)
        let perWriter = (Self.count + writerCount - 1) / writerCount
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writerCount {
                group.addTask {
                    let store = try await PostgresStore.open(url: url)
                    var number = 0
                    while number < perWriter {
                        // Of all sizes, so that transactions end in another order than they began.
                        let end = min(perWriter, number + 1 + (number * 7 + writer) % batch)
                        let messages = (number..<end).map { NewMessage(payload: Array("\(writer) \($0)".utf8)) }
                        _ = try await store.enqueue(messages, to: queue, durability: .processCrash)
                        number = end
                    }
                    try await store.close()
                }
            }
            for name in ["one", "two"] {
                let cursor = try CursorName(name)
                _ = try await first.moveCursor(cursor, of: queue, .place(after: SequenceNumber(0)))
                group.addTask { try await Self.follow(url, queue, cursor, until: perWriter, of: writerCount) }
            }
            try await group.waitForAll()
        }
        print("    \(perWriter * writerCount) messages, twice read, in \(ContinuousClock.now - start)")
        #expect(try await first.log(LogQuery(queue: queue, .last(0))).accepted == perWriter * writerCount)
        try await first.close()
    }

    /// Reads until each writer's last message, and holds what it reads against what they write.
    private static func follow(
        _ url: String, _ queue: QueueName, _ cursor: CursorName, until perWriter: Int, of writerCount: Int
    ) async throws {
        var next = [Int](repeating: 0, count: writerCount)
        var (last, lives) = (SequenceNumber(0), 0)
        while next.contains(where: { $0 < perWriter }) {
            lives += 1
            let store = try await PostgresStore.open(url: url)
            let start = try await store.log(LogQuery(queue: queue, .last(0), cursor: cursor))
            // The cursor is where the last life has left it.
            var place = try #require(start.cursor?.sequence)
            try #require(place == last)
            let half = writerCount * perWriter / 4 * lives
            while next.contains(where: { $0 < perWriter }), lives > 3 || next.reduce(0, +) < half {
                let token = store.changes.token(for: queue)
                let page = try await store.log(LogQuery(queue: queue, .after(place), limit: 1000))
                for record in page.records {
                    try #require(record.sequence > last, "\(record.sequence) comes after \(last)")
                    last = record.sequence
                    let words = String(decoding: record.payload, as: UTF8.self).split(separator: " ").compactMap {
                        Int($0)
                    }
                    // What one process has written comes in its order: none is missed, and none comes twice.
                    try #require(words[1] == next[words[0]], "\(words) came for \(next[words[0]])")
                    next[words[0]] += 1
                }
                if let record = page.records.last {
                    place = record.sequence
                    _ = try await store.moveCursor(cursor, of: queue, .advance(to: place))
                } else {
                    // A ring may be lost with a connection, so a reader looks by itself as well.
                    try await withThrowingTaskGroup(of: Void.self) { waits in
                        waits.addTask { try await store.changes.wait(for: queue, after: token) }
                        waits.addTask { try await SystemTime().sleep(for: store.lookInterval) }
                        try await waits.next()
                        waits.cancelAll()
                    }
                }
            }
            if lives > 3 { try await store.close() } else { await store.crash() }
        }
    }
}
