import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What a copy would bring, as it is told beforehand: what it brings then.
@Suite(.timeLimit(.minutes(5))) struct CopyForecastTests: CopyFixture {
    let time = ManualTime()
    let folder = TemporaryFolder()

    /// A queue that nobody reads, whose cursor holds settings, and one whose reader has not come to anything; in both, messages that have ended in each way, that
    /// wait, and one that expires in a second.
    private func fill(_ store: SQLiteStore) async throws {
        for queue in [QueueName.jobs, .mail] {
            try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
            let cursor = CursorName(stored: queue == .mail ? "reader" : CursorName.settingsPrefix + "1")
            _ = try await store.moveCursor(cursor, of: queue, .place(after: nil))
            let messages: [NewMessage] = [
                .text("done"), .text("dead"), .text("cancelled"), .text("expired", expiry: .after(.seconds(1))),
                .text("later", due: .after(.seconds(99))), .text("ready"),
            ]
            let receipts = try await store.enqueue(messages, to: queue, durability: .processCrash)
            let taken = try await store.take(2, from: queue)
            _ = try await store.settle([
                Settlement(taken[0].lease, .done), Settlement(taken[1].lease, .dead(error: "e")),
            ])
            _ = try await store.apply(.cancel, to: [receipts[2].sequence])
        }
    }

    @Test(arguments: [false, true]) func whatWouldMoveIsWhatMoves(withLog: Bool) async throws {
        let store = try await open(source)
        try await fill(store)
        time.advance(by: .seconds(2))
        // Nobody has ended what has expired.
        let reader = try await SQLiteReader.open(path: source, time: time)
        let forecast = try await reader.copyForecast(withLog: withLog)
        #expect(try await store.copyForecast(withLog: withLog) == forecast)
        let into = try await open(target)
        let report = try await store.copy(
            to: into, StoreCopy(source: "source.db", target: "target.db", withLog: withLog)
        ) { _ in }
        #expect(report.queues == forecast)
        let all: [MessageState: Int] = [.done: 1, .dead: 1, .cancelled: 1, .scheduled: 1, .ready: 2]
        let waiting: [MessageState: Int] = [.dead: 1, .scheduled: 1, .ready: 2]
        #expect(forecast.map(\.counts) == [withLog ? all : waiting, all])
        try await reader.close()
        for store in [store, into] { try await store.close() }
    }

    /// A copy waits for them, so they are told of as they stand.
    @Test func whatWorkersHaveIsCounted() async throws {
        let store = try await open(source)
        try await fill(store)
        let before = try await store.copyForecast(withLog: false)
        let taken = try #require(try await store.take().first)
        let during = try await store.copyForecast(withLog: false)
        #expect(during.map(\.total) == before.map(\.total))
        #expect(during.first?.counts[.leased] == 1)
        _ = try await store.settle([Settlement(taken.lease, .release)])
        #expect(try await store.copyForecast(withLog: false) == before)
        try await store.close()
    }
}
