import Foundation
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockDashboard

@Suite struct LiveTests {
    private static func queue(_ name: String, ready: Int, enqueued: Int) throws -> QueueStatus {
        var (depths, totals) = (Depths(), Totals())
        depths.ready = ready
        totals.enqueued = enqueued
        return QueueStatus(
            name: try QueueName(name), policy: QueuePolicy(), isPaused: false, depths: depths, totals: totals)
    }

    /// The file's counts only grow; a page tells of the last minute.
    @Test func latenciesAreThoseOfTheLastMinute() throws {
        let live = Live()
        var queue = try Self.queue("q", ready: 0, enqueued: 0)
        func look(at second: Int64) throws -> QueueLatency {
            live.look(at: [queue], now: Timestamp(microseconds: second * 1_000_000))
            return live.recent(of: queue.name)
        }
        queue.latency.wait.record(.seconds(100))
        #expect(try look(at: 1000).isEmpty, "What was there before anybody looked is of no known time.")
        queue.latency.wait.record(.milliseconds(2))
        queue.latency.work.record(.milliseconds(30))
        let recent = try look(at: 1001)
        #expect(recent.wait.count == 1 && recent.work.count == 1)
        let waits = try #require(Quantiles(recent.wait))
        #expect(waits.high > .microseconds(1585) && waits.high <= .microseconds(3981))
        for second in stride(from: Int64(1002), through: 1060, by: 1) {
            #expect(try look(at: second).wait.count == 1, "\(second)")
        }
        queue.latency.wait.record(.seconds(3))
        #expect(try look(at: 1067).wait.sum == .seconds(3))
        let history = live.history(of: queue.name)[.minutes].values(\.waitHigh)
        #expect(history.compactMap(\.self).count == 61, "Each second but the first, and the one that nobody looked in.")
        #expect(try look(at: 1200).isEmpty)
        // A queue that was made anew begins anew.
        queue.latency = QueueLatency()
        queue.latency.wait.record(.milliseconds(1))
        #expect(try look(at: 1201).isEmpty)
        #expect(Shown.latency(.microseconds(50)) == "50µs" && Shown.latency(.microseconds(1234)) == "1.2ms")
        #expect(Shown.latency(.milliseconds(87)) == "87ms" && Shown.latency(.milliseconds(2512)) == "2.5s")
        #expect(Shown.latency(.seconds(65)) == "1m5s")
    }

    /// Rates, depths, ages and latencies, of a queue and of all.
    @Test func chartsShowSinceWhenTheOldestIsReady() throws {
        let live = Live()
        var queues = [try Self.queue("a", ready: 1, enqueued: 1), try Self.queue("b", ready: 1, enqueued: 1)]
        queues[0].oldestReady = Timestamp(microseconds: 990_000_000)
        queues[1].oldestReady = Timestamp(microseconds: 940_000_000)
        live.look(at: queues, now: Timestamp(microseconds: 1_000_000_000))
        let ages: [(QueueName?, Double)] = [(queues[0].name, 10), (queues[1].name, 60), (nil, 60)]
        for (queue, age) in ages {
            let history = live.history(of: queue)
            #expect(history[.minutes].ages(\.oldest) == [age])
            let charts = ChartFields.fields(history, .minutes) { _ in "" }["each"] as? [Fields]
            #expect(
                charts?.map { $0["title"] as? String } == [
                    "Messages in line", "Messages a second", "Seconds for which the oldest has been ready",
                    "Milliseconds from ready to claimed, in the minute before",
                ])
        }
    }

    @Test func pagesAreToldWhatHasChanged() async throws {
        let live = Live()
        let now = Timestamp(microseconds: 1_000_000_000)
        live.look(
            at: [try Self.queue("a", ready: 1, enqueued: 1), try Self.queue("b", ready: 0, enqueued: 0)], now: now)
        let news = try #require(live.listen())
        live.look(
            at: [try Self.queue("a", ready: 1, enqueued: 1), try Self.queue("b", ready: 0, enqueued: 0)], now: now)
        live.look(
            at: [try Self.queue("a", ready: 1, enqueued: 1), try Self.queue("b", ready: 2, enqueued: 2)], now: now)
        live.look(at: [try Self.queue("b", ready: 2, enqueued: 2)], now: now)
        var iterator = news.makeAsyncIterator()
        #expect(await iterator.next() == .changed([try QueueName("b")]))
        #expect(await iterator.next() == .changed([try QueueName("a")]))
        #expect(live.history(of: try QueueName("b"))[.minutes].values(\.waiting) == [2])
        #expect(live.history(of: try QueueName("a"))[.minutes].values(\.waiting).isEmpty)
    }

    /// Every page says that the queues are another store's.
    @Test func pagesAreToldThatTheStoreMoves() async throws {
        let store = PenstockStore(TestDatabase().open())
        let live = Live()
        let now = Timestamp(microseconds: 1_000_000_000)
        #expect(await live.move(of: store) == nil)
        live.look(at: [], now: now)
        var news = try #require(live.listen()).makeAsyncIterator()
        let move = StoreMove(phase: .moved, source: "a", target: "b")
        live.look(at: [], move: move, now: now)
        #expect(await news.next() == .missed)
        #expect(await live.move(of: store) == move)
        live.look(at: [], now: now)
        #expect(await news.next() == .missed)
        #expect(await live.move(of: store) == nil)
    }

    @Test func theFirstQueueOfAllIsTold() async throws {
        let live = Live()
        let now = Timestamp(microseconds: 1_000_000_000)
        live.look(at: [], now: now)
        var news = try #require(live.listen()).makeAsyncIterator()
        live.look(at: [try Self.queue("a", ready: 0, enqueued: 0)], now: now)
        #expect(await news.next() == .changed([try QueueName("a")]))
    }

    /// A page that was open before the first look may have missed something.
    @Test func whoListensBeforeTheFirstLookIsToldToLookAtEverything() async throws {
        let live = Live()
        var news = try #require(live.listen()).makeAsyncIterator()
        live.look(at: [try Self.queue("a", ready: 1, enqueued: 1)], now: Timestamp(microseconds: 1_000_000_000))
        #expect(await news.next() == .missed)
    }

    /// A reader that was too slow for the news is told to look at everything, after the last of them.
    @Test func whoMissesNewsIsToldSo() async throws {
        let live = Live()
        let now = Timestamp(microseconds: 1_000_000_000)
        live.look(at: [], now: now)
        var news = try #require(live.listen()).makeAsyncIterator()
        for number in 1...8 { live.look(at: [try Self.queue("a", ready: number, enqueued: number)], now: now) }
        let b = try Self.queue("b", ready: 1, enqueued: 1)
        live.look(at: [try Self.queue("a", ready: 8, enqueued: 8), b], now: now)
        var heard: [Live.News] = []
        while heard.count < 8, let item = await news.next() { heard.append(item) }
        #expect(heard.last == .missed)
        #expect(EventStream.event(.missed, { _ in false }) == "event: change\ndata: [\"*\"]\n\n")
        live.look(at: [b], now: now)
        #expect(await news.next() == .changed([try QueueName("a")]), "Who has caught up is told as before.")
    }

    /// A store that never says what its queues are.
    private struct SilentStore: ForwardingStore {
        let base: any MessageStore
        let asked = Tally()

        func pass<Answer: Sendable>(
            _ call: StoreCall, _ body: @Sendable () async throws -> Answer
        ) async throws -> Answer {
            guard call == .status else { return try await body() }
            asked.add()
            try await Tally().wait(for: 1)
            return try await body()
        }
    }

    /// A page that hears nothing for a while says that the connection is lost.
    @Test(.timeLimit(.minutes(1))) func anOpenLineTicksHoweverLongALookTakes() async throws {
        let (live, time) = (Live(), ManualTime())
        let store = SilentStore(base: TestDatabase().open())
        var news = try #require(live.listen()).makeAsyncIterator()
        let run = Task { await live.run(PenstockStore(store), time: time) }
        defer { run.cancel() }
        try await store.asked.wait(for: 1)
        for _ in 1...3 {
            try await time.waitForSleepers()
            time.advance(by: Live.tickInterval)
            #expect(await news.next() == .tick)
        }
        run.cancel()
        await run.value
        #expect(await news.next() == nil)
        #expect(store.asked.count == 1)
    }

    /// Of rates a visitor sees what comes of the queues at which he may look.
    @Test func tilesAreOfTheQueuesThatMayBeSeen() throws {
        let live = Live()
        var queues: [QueueStatus] = []
        for second in 0...5 {
            queues = [
                try Self.queue("a", ready: 1, enqueued: second * 2),
                try Self.queue("b", ready: 5, enqueued: second * 50),
            ]
            live.look(at: queues, now: Timestamp(microseconds: Int64(second + 1000) * 1_000_000))
        }
        func tiles(_ count: Int, workerCount: Int?) -> [String] {
            OverviewPage.tiles(Array(queues.prefix(count)), live, workerCount: workerCount).map {
                "\($0["value"] ?? "") \($0["title"] ?? "")"
            }
        }
        #expect(tiles(1, workerCount: nil).filter { $0.contains("in, a second") } == ["2 in, a second"])
        #expect(tiles(2, workerCount: nil).filter { $0.contains("in, a second") } == ["52 in, a second"])
        #expect(tiles(2, workerCount: 7).contains("52 in, a second"))
        #expect(tiles(2, workerCount: 7).contains("7 workers alive"))
        #expect(!tiles(1, workerCount: nil).contains { $0.contains("workers") && $0.contains("alive") })
    }

    @Test func noMoreListenThanMay() throws {
        let live = Live()
        var streams: [AsyncStream<Live.News>] = []
        for _ in 0..<Live.listenerCountMax { streams.append(try #require(live.listen())) }
        #expect(live.listen() == nil)
        streams.removeLast()
        #expect(live.listen() != nil)
        #expect(streams.count == Live.listenerCountMax - 1)
    }

    @Test func aReaderIsToldOfQueuesThatItMaySee() throws {
        let b = try QueueName("b")
        #expect(EventStream.event(.changed([b]), { $0 != b }) == nil)
        #expect(EventStream.event(.changed([b]), { _ in true }) == "event: change\ndata: [\"b\"]\n\n")
        let many = try (0..<60).map { try QueueName("q\($0)") }
        #expect(EventStream.event(.changed(many), { _ in true }) == "event: change\ndata: [\"*\"]\n\n")
    }

    @Test func theStreamTellsOfAMessageAndEndsWithTheServer() async throws {
        let store = PenstockStore(TestDatabase().open())
        let queue = try await store.queue("mail")
        let parts = try await withStream(of: store) { parts in
            var heard = ""
            for await part in parts {
                // The first look of all cannot tell what was there before; a message after it is told.
                if heard.isEmpty || part.contains("data: [\"*\"]") { try await queue.enqueue(Array("x".utf8)) }
                heard += part
                if heard.contains("data: [\"mail\"]") { return }
            }
            Issue.record("The stream ended, and had told: \(heard)")
        }
        // The server has stopped: nothing comes, and nobody waits for more.
        for await _ in parts {}
    }

    /// Calls `body` with what a server's stream of events tells; the server stops when it is over.
    private func withStream(
        of store: PenstockStore, _ body: @escaping @Sendable (AsyncStream<String>) async throws -> Void
    ) async throws -> AsyncStream<String> {
        let (streams, continuation) = AsyncStream.makeStream(of: AsyncStream<String>.self)
        try await TestServer.run(store: store) { server in
            let stream = EventReader.read(server.url.appendingPathComponent("events"))
            continuation.yield(stream)
            try await body(stream)
        }
        var iterator = streams.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    @Test func aChartHasALineForEachAndNoneWhereNobodyLooked() {
        let chart = LineChart(
            title: "Depth",
            lines: [.init(name: "a", values: [0, 50, nil, 100]), .init(name: "b", values: [nil, nil, nil, nil])],
            span: "2 minutes")
        #expect(chart.svg.contains("d=\"M56 126L235.3 70M594 14\""))
        #expect(chart.svg.contains("class=\"line line2\" d=\"\""))
        #expect(chart.svg.contains(">100<") && chart.svg.contains(">50<"))
        #expect(LineChart.spark([]).contains("d=\"\""))
    }

    @Test func aTaskIsDrawnRightOfThoseThatItDependsOn() throws {
        func task(_ name: String, _ number: Int64, after: [String] = []) throws -> TaskRecord {
            TaskRecord(
                name: try TaskName(name), sequence: SequenceNumber(number), queue: try QueueName("q"), state: .pending,
                dependencies: try after.map { DependencyRecord(Dependency(on: try TaskName($0)), state: .open) })
        }
        let svg = WorkflowDrawing(
            tasks: [try task("a", 1), try task("<b>", 2, after: ["a"]), try task("c", 3, after: ["a", "<b>"])]
        ).svg
        #expect(
            svg.contains("<rect x=\"4\" y=\"4\"") && svg.contains("<rect x=\"204\"") && svg.contains("<rect x=\"404\""))
        #expect(svg.components(separatedBy: "class=\"edge\"").count == 4)
        #expect(svg.contains("&lt;b&gt;") && !svg.contains("<b>"))
    }
}
