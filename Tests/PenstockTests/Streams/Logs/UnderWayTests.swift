import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// What is on its way into a log is bounded in bytes as it is in number.
@Suite(.timeLimit(.minutes(5))) struct UnderWayTests {
    private struct Picture: Event {
        var text: String
    }

    let the = Fixture()

    /// Has the writer do nothing more until the latch is open.
    private func hold(_ writer: LogWriter, until goOn: Latch) {
        writer.inTurn { await goOn.waitThoughCancelled() }
    }

    @Test func eventsThatAreHandedOverAreBoundedInBytes() async throws {
        let refused = Mutex<[PenstockError.Code?]>([])
        let bus = try await EventBus.open(in: the.store) { failure in
            refused.withLock { $0.append((failure.error as? PenstockError)?.code) }
        }
        let goOn = Latch()
        hold(try bus.logBuffer().writer, until: goOn)
        let picture = Picture(text: String(repeating: "x", count: Limits.payloadBytesMax / 2))
        for _ in 1...EventBus.handedOverBytesMax / picture.text.utf8.count { bus << picture }
        #expect(refused.withLock { $0 } == [])
        bus << picture
        #expect(refused.withLock { $0 } == [.queueFull])
        goOn.open()
        await bus.flush()
        bus << picture
        await bus.flush()
        #expect(refused.withLock { $0 } == [.queueFull])
    }

    @Test func aFeedWaitsAtItsBoundOfBytes() async throws {
        let queue = try await the.store.queue("log")
        let writer = LogWriter(queue.name, handle: queue.handle)
        let feed = LogFeed(queue, writer)
        let goOn = Latch()
        hold(writer, until: goOn)
        let value = [UInt8](repeating: 1, count: Limits.stagedBytesMax / 2)
        for _ in 1...2 { try await feed.take(value) }
        let third = Task { try await feed.take(value) }
        third.cancel()
        await #expect(throws: CancellationError.self, "It waits, and is not under way.") { try await third.value }
        goOn.open()
        try await feed.take(value)
        let ending = await feed.finish(.finished)
        if case .broken(let error) = ending { throw error }
        #expect(try await the.store.list(MessageQuery(queue: queue.name)).count == 3)
    }
}
