import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Going through the messages of many queues in one order.
@Suite(.timeLimit(.minutes(5))) struct SequenceWalkTests {
    private let folder = TemporaryFolder()

    /// Each source that stayed would be paid for with every message.
    @Test(arguments: [true, false]) func sourcesThatHaveNothingAreLeftBehind(_ isFromFirst: Bool) async throws {
        let store = try await SQLiteStore.openWithJobs(folder.file("queue.db"))
        let queues = (1...20).map { QueueName(stored: "q\($0)") }
        for queue in queues { try await store.configure(queue, .create(QueuePolicy(), ifAbsent: false)) }
        // Each queue has one message more than the queue before it.
        var expected: [Int64] = []
        for round in queues.indices {
            for queue in queues[round...] {
                expected.append(try await store.put(.text("x", priority: round % 2), to: queue).sequence.rawValue)
            }
        }
        if !isFromFirst { expected.reverse() }
        let query = MessageQuery(
            states: Set(MessageState.allCases), end: isFromFirst ? .first : .last, limit: 4)
        let (found, counts) = try await store.snapshots.read { connection in
            var walk = try SequenceWalk(query, QueueReader.ids(nil, connection), connection)
            var found: [Int64] = []
            var counts: [Int] = []
            while let sequence = try walk.next() {
                found.append(sequence)
                counts.append(walk.sourceCount)
            }
            return (found, counts)
        }
        #expect(found == expected)
        // All but the first queue have messages of two priorities, and each of these is a source.
        #expect(counts.first == 39 && counts.last == 1, "\(counts)")
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 >= $1 }, "\(counts)")
        try await store.close()
    }
}
