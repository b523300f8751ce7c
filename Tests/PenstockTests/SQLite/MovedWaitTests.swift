import Penstock
import PenstockCore
import PenstockSQL
import PenstockSQLite
import PenstockTestKit
import Testing

/// A task that waits in a store for what will not come there is told where the queues go.
@Suite(.timeLimit(.minutes(5))) struct MovedWaitTests {
    private let folder = TemporaryFolder()
    private let time = ManualTime()

    @Test func waitsEndWhenTheQueuesMove() async throws {
        let options = SQLiteStore.Options(time: time)
        let old = try await SQLiteStore.open(path: folder.file("old.db"), options: options)
        let new = try await SQLiteStore.open(path: folder.file("new.db"), options: options)
        let store = PenstockStore(old, options: .init(time: time))
        let queue = try await store.queue("q", of: Int.self)
        let subject = AsyncDurableReplaySubject(bufferSize: 3, in: try await store.queue("log", of: Int.self))
        let number = try await queue.enqueue(1).sequence
        let waits: [@Sendable () async throws -> Void] = [
            { _ = try await queue.result(of: number, as: Int.self) },
            { for try await _ in queue.log(follow: true) {} },
            { for try await _ in subject {} },
        ]
        try await withThrowingTaskGroup(of: PenstockError.Code?.self) { group in
            for wait in waits { group.addTask { await errorCode(wait) } }
            try await old.changes.waitForWaiters(count: waits.count)
            _ = try await old.copy(to: new, StoreCopy(source: "old.db", target: "new.db")) { _ in }
            // No clock moves: each of them is woken.
            for try await end in group { #expect(end == .storeMoved) }
        }
        #expect(await errorCode { _ = try await queue.result(of: number, as: Int.self) } == .storeMoved)
        try await old.close()
        try await new.close()
    }
}
