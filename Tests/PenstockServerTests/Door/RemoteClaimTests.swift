import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Penstock
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockAPI
@testable import PenstockHTTP

/// What is handed to clients at the other end of a connection, and what if there is none.
@Suite(.timeLimit(.minutes(5))) struct RemoteClaimTests {
    private let time = ManualTime()

    private func context(_ channel: EmbeddedChannel) -> ServerContext {
        var context = ServerContext(
            source: .init(channel: channel, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        context.principal = .local
        return context
    }

    private func store(_ queues: [String: [[UInt8]]]) async throws -> PenstockStore {
        let store = PenstockStore(InMemoryStore(time: time))
        for (name, payloads) in queues {
            let queue = try await store.queue(name, of: [UInt8].self)
            if !payloads.isEmpty { try await queue.enqueue(contentsOf: payloads) }
        }
        return store
    }

    private func claim(_ queues: [String]) throws -> RemoteClaim {
        RemoteClaim(
            queues: try queues.map { try QueueName($0) }, limit: 10, lease: .seconds(30), worker: try WorkerName("far"),
            wait: .zero)
    }

    /// A queue in order gives nothing before what goes first is in line. A thousand come in line at each look, and here the first is due
    /// last. Nothing tells such a client to ask again.
    @Test func aClaimWithoutAWaitLooksUntilAllThatIsDueIsInLine() async throws {
        let store = PenstockStore(InMemoryStore(time: time))
        let q = try QueueName("q")
        try await store.storage.configure(q, .create(QueuePolicy(groups: .fifo()), ifAbsent: false))
        let later = (1...2 * Limits.promotionCountMax + 1).map {
            NewMessage(payload: [1], due: .after(Duration.seconds(5) - .microseconds($0)), group: "\($0)")
        }
        _ = try await store.storage.enqueue(later, to: q, durability: .processCrash)
        time.advance(by: .seconds(6))
        let channel = EmbeddedChannel(handler: ConnectionWatch(OpenConnections()))
        #expect(try await claim(["q"]).run(store, context(channel), time).count == 10)
        _ = try channel.finish()
    }

    /// A client that went before its claim was carried out has none, also where the claim did not wait.
    @Test(arguments: [true, false]) func whoHasGoneClaimsNothing(isThere: Bool) async throws {
        let store = try await store(["q": [[1], [2]]])
        let channel = EmbeddedChannel(handler: ConnectionWatch(OpenConnections()))
        if !isThere { channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
        if isThere {
            #expect(try await claim(["q"]).run(store, context(channel), time).count == 2)
        } else {
            await #expect(throws: Problem.self) { try await claim(["q"]).run(store, context(channel), time) }
        }
        let depths = try await store.status(of: QueueName("q")).depths
        #expect((depths.ready, depths.leased) == (isThere ? (0, 2) : (2, 0)))
        if !isThere {
            let again = try await store.storage.claim(
                ClaimRequest(queue: try QueueName("q"), limit: 1, lease: .seconds(30)))
            #expect(again.messages.first?.attempt == 1)
        }
        _ = try channel.finish()
    }

    /// Nobody else was woken for the message.
    @Test func aClaimThatFailsOnceItIsWokenWakesAnother() async throws {
        let fails = Atomic(false)
        let storage = WakingOneStore(InMemoryStore(time: time)) {
            if fails.exchange(false, ordering: .relaxed) { throw PenstockError(.busy, "It is busy.") }
        }
        let store = PenstockStore(storage)
        let queue = try await store.queue("q", of: [UInt8].self)
        let channels = [EmbeddedChannel(), EmbeddedChannel()]
        let presences = channels.map(ClientPresence.init(of:))
        let contexts = channels.map { context($0) }
        var claim = try claim(["q"])
        claim.wait = .seconds(60)
        let first = Task { [claim, time] in try await claim.run(store, contexts[0], time) }
        try await storage.changes.waitForWaiters(count: 1)
        let second = Task { [claim, time] in try await claim.run(store, contexts[1], time) }
        try await storage.changes.waitForWaiters(count: 2)
        fails.store(true, ordering: .relaxed)
        try await queue.enqueue([7])
        await #expect(throws: PenstockError.self) { try await first.value }
        #expect(try await second.value.count == 1)
        for presence in presences { presence.close() }
    }

    /// A client that goes while its answer is on the way has started nothing, and so uses nothing of a rate.
    @Test func aStartThatNobodyHasHadIsGivenBack() async throws {
        let store = try await store([:])
        let queue = try await store.queue(
            "q", of: [UInt8].self, policy: QueuePolicy(rate: Rate(1, per: .seconds(3600))))
        try await queue.enqueue([7])
        let (channel, claim) = (EmbeddedChannel(handler: ConnectionWatch(OpenConnections())), try claim(["q"]))
        for _ in 1...3 {
            let claimed = try await claim.run(store, context(channel), time)
            #expect(claimed.map(\.message.attempt) == [1])
            try await store.giveBack(claimed.map(\.message.lease))
        }
        _ = try channel.finish()
    }

    @Test func aClaimOfManyQueuesIsBoundedInBytes() async throws {
        let payloads = [[UInt8]](repeating: [UInt8](repeating: 0, count: 10), count: 2)
        let store = try await store(["a": payloads, "b": payloads, "c": payloads])
        let channel = EmbeddedChannel(handler: ConnectionWatch(OpenConnections()))
        var claim = try claim(["a", "b", "c"])
        claim.bytesMax = 60
        let claimed = try await claim.run(store, context(channel), time)
        #expect(claimed.map(\.queue.text) == ["a", "a", "b", "b"])
        _ = try channel.finish()
    }

    /// Proxies end what is silent, also where the log is looked at again and again meanwhile.
    @Test func aFollowerHearsThatThereIsNothing() async throws {
        let store = PenstockStore(Looking(base: InMemoryStore(time: time)))
        let queue = try await store.queue("q", of: [UInt8].self)
        let channel = EmbeddedChannel(handler: ConnectionWatch(OpenConnections()))
        let feed = LogFeed(
            store: store, time: time, context: context(channel), queue: try QueueName("q"),
            start: .after(SequenceNumber(0)), limit: 1, follows: true, format: .events)
        let written = Written()
        let body = feed.response.body
        async let end: Void = body.write(written)
        for second in 1...40 {
            try await time.waitForSleepers()
            #expect(written.text == String(repeating: ":\n\n", count: 1 + (second - 1) / 15))
            time.advance(by: .seconds(1))
        }
        try await time.waitForSleepers()
        try await queue.enqueue([65])
        try await end
        #expect(written.text.hasPrefix(":\n\n:\n\n:\n\nid: 1\ndata: {"))
        _ = try channel.finish()
    }

    /// A store that does not hear of what others do, and is looked at each second.
    private struct Looking: ForwardingStore {
        let base: any MessageStore
        var lookInterval: Duration { .seconds(1) }
    }

    private final class Written: ResponseBodyWriter, Sendable {
        private let state = Mutex("")
        var text: String { state.withLock { $0 } }

        func write(_ buffer: ByteBuffer) async throws { state.withLock { $0 += String(buffer: buffer) } }

        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }
}
