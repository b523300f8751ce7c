import Logging
import NIOCore
import NIOPosix
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP
import PenstockSQLite
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockClient

/// What a client of a server promises beyond the rules of every store.
@Suite(.timeLimit(.minutes(5))) struct ClientTests {
    /// A worker at one client does what producers at another enqueue, with nothing lost on the way.
    @Test func aWorkerWorksWhatOthersEnqueue() async throws {
        try await withServer { server in
            let producer = try await PenstockStore.open(url: server.url)
            let consumer = try await PenstockStore.open(url: server.url)
            let mail = try await producer.queue("mail", of: String.self)
            let worked = try await consumer.queue("mail", of: String.self)
            let texts = Mutex<[String]>([])
            let count = Tally()
            let worker = Worker(worked, options: .init(concurrency: 4)) { delivery in
                texts.withLock { $0.append(delivery.payload) }
                count.add()
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await worker.run() }
                for number in 0..<200 { try await mail.enqueue("\(number)") }
                try await count.wait(for: 200)
                group.cancelAll()
            }
            #expect(texts.withLock { $0.sorted() } == (0..<200).map(String.init).sorted())
            try await producer.close()
            try await consumer.close()
        }
    }

    /// The claims of one call have a bound at a server.
    @Test(arguments: [1, 8])
    func aWorkerServesManyQueues(perQueue: Int) async throws {
        try await withServer { server in
            let store = try await PenstockStore.open(url: server.url)
            var queues: [Queue<Int>] = []
            for number in 0..<20 {
                let queue = try await store.queue("queue-\(number)", of: Int.self)
                try await queue.enqueue(contentsOf: Array(0..<perQueue))
                queues.append(queue)
            }
            let count = Tally()
            let order = QueueOrder.weighted(queues.map { _ in 1 })
            let options = Worker<Int>.Options(concurrency: 20 * perQueue, drain: true)
            try await Worker(queues, order: order, options: options) { _ in count.add() }.run()
            #expect(count.count == 20 * perQueue)
            try await store.close()
        }
    }

    /// A server that was stopped and started again, on the same file and port, is gone on with.
    @Test func aWaitOutlivesTheServer() async throws {
        let folder = TemporaryFolder()
        let socket = folder.file("s")
        let path = folder.file("queue.db")
        let first = try await PenstockStore.open(path: path)
        let server = try await TestServer.start(first, at: .unix(path: socket))
        let client = try await PenstockStore.open(url: "unix:\(socket)")
        let mail = try await client.queue("mail", of: String.self)
        let token = client.storage.changes.token(for: mail.name)
        _ = try await client.storage.claim(ClaimRequest(queue: mail.name, limit: 1, lease: .seconds(30)))
        await server.stop()
        try await first.close()
        await #expect { try await mail.enqueue("lost") } throws: { ($0 as? PenstockError)?.code == .unreachable }
        async let heard: Void = client.storage.changes.wait(for: mail.name, after: token)
        let second = try await PenstockStore.open(path: path)
        let again = try await TestServer.start(second, at: .unix(path: socket))
        try await mail.enqueue("found")
        try await heard
        #expect(try await mail.status().depths.ready == 1)
        try await client.close()
        await again.stop()
        try await second.close()
    }

    /// A worker that waits asks often enough for the server to know that it is there, however long a process may rely on rings.
    @Test func whoWaitsAsksWithinTheMinute() async throws {
        let store = PenstockStore(PatientStore(InMemoryStore()))
        let server = try await TestServer.start(store)
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil)
        #expect(client.lookInterval == .seconds(30))
        try await client.close()
        await server.stop()
    }

    /// What a client holds goes back when it is closed, uncounted, and comes back later when it is not.
    @Test func aCloseGivesBackWhatIsHeld() async throws {
        try await withServer { server in
            let mail = try await server.store.queue("mail", of: String.self)
            for text in ["a", "b", "c"] { try await mail.enqueue(text) }
            let client = try await RemoteStore.open(server.url, token: nil, worker: WorkerName("mill:1"))
            let claim = try await client.claim(ClaimRequest(queue: mail.name, limit: 3, lease: .seconds(30)))
            _ = try await client.settle([Settlement(claim.messages[0].lease, .done)])
            let workers = try await client.status(of: nil).workers
            #expect(workers.map(\.name) == ["mill:1"])
            try await client.close()
            let depths = try await mail.status().depths
            #expect(depths.ready == 2 && depths.leased == 0 && depths.kept == 1)
            let again = try await server.store.storage.claim(
                ClaimRequest(queue: mail.name, limit: 3, lease: .seconds(30)))
            #expect(again.messages.map(\.attempt) == [1, 1])
            await expect(.closed) { _ = try await client.status(of: nil) }
            try await client.close()
        }
    }

    /// A client that dies gives nothing back: its leases end.
    @Test func aClientThatDiesLosesItsLeasesInTime() async throws {
        let time = ManualTime()
        let store = InMemoryStore(time: time)
        let server = try await TestServer.start(PenstockStore(store, options: .init(time: time)), keepsUp: false)
        let queue = try QueueName("mail")
        try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        _ = try await store.enqueue([NewMessage(payload: [1])], to: queue, durability: .powerLoss)
        let doomed = try await RemoteStore.open(server.url, token: nil, worker: WorkerName("mill:1"), time: time)
        #expect(try await doomed.claim(ClaimRequest(queue: queue, limit: 1, lease: .seconds(30))).messages.count == 1)
        #expect(try await store.reclaim() == Reclaimed())
        time.advance(by: .seconds(31))
        #expect(try await store.reclaim() == Reclaimed(fromExpiredLeases: 1))
        await server.stop()
    }

    /// Where nobody is, nothing was done; and it is said in a sentence.
    @Test func whereNobodyListensNothingIsDone() async throws {
        let folder = TemporaryFolder()
        for url in ["http://127.0.0.1:1", "unix:\(folder.file("none"))"] {
            await #expect { _ = try await PenstockStore.open(url: url) } throws: { error in
                let error = error as? PenstockError
                return error?.code == .unreachable && error?.message.contains("cannot be reached") == true
            }
        }
        let ports = ["0", "65536", "99999999999999999999", "", "x"].flatMap {
            ["http://127.0.0.1:\($0)", "http://[::1]:\($0)"]
        }
        for url in ["ftp://mill", "mill:7700", "http://", "http://a:b@mill", "http://mill/path", "unix:", ""] + ports {
            await expect(.invalidInput) { _ = try await PenstockStore.open(url: url) }
        }
    }

    /// A server that goes in the middle of a request has perhaps carried it out. What only looks is asked once more.
    @Test func aBrokenConnectionLeavesOpenWhatWasDone() async throws {
        let requests = Atomic(0)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HangUp { requests.add(1, ordering: .relaxed) })
                }
            }.bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(channel.localAddress?.port)
        let connection = try ServerConnection(try ServerURL("http://127.0.0.1:\(port)"), token: nil)
        let ends: [(RequestPurpose, PenstockError.Code, Int)] = [
            (.changing, .outcomeUnknown, 1), (.reading, .unreachable, 2),
        ]
        for (purpose, code, count) in ends {
            requests.store(0, ordering: .relaxed)
            await expect(code) {
                _ = try await connection.answer(to: [1], at: "/v1/store", purpose, within: .seconds(30))
            }
            #expect(requests.load(ordering: .relaxed) == count)
        }
        await connection.close()
        try await channel.close()
    }

    /// People find the process that holds a message by it, also where it is on another machine.
    @Test func aClientHasTheNameThatItWasGiven() async throws {
        try await withServer { server in
            let client = try await PenstockStore.open(url: server.url, options: .init(workerName: "mill"))
            let mail = try await client.queue("mail", of: String.self)
            try await mail.enqueue("x")
            _ = try await client.storage.claim(ClaimRequest(queue: mail.name, limit: 1, lease: .seconds(30)))
            #expect(try await client.storage.status(of: nil).workers.map(\.name) == ["mill"])
            try await client.close()
        }
    }

    /// A worker prunes each minute, and its server need not look each time at all that dead letters keep.
    @Test func aPruningSaysWhetherKeptTasksMayBePassedOver() async throws {
        final class AskedStore: ForwardingStore {
            let base: any MessageStore = InMemoryStore()
            let passesKept = Mutex<[Bool]>([])

            func prune(_ request: PruneRequest) async throws -> Pruned {
                passesKept.withLock { $0.append(request.passesKept) }
                return try await base.prune(request)
            }
        }
        let asked = AskedStore()
        let server = try await TestServer.start(PenstockStore(asked), keepsUp: false)
        let client = try await PenstockStore.open(url: server.url)
        for passesKept in [true, false] {
            var request = PruneRequest()
            request.passesKept = passesKept
            _ = try await client.storage.prune(request)
        }
        #expect(asked.passesKept.withLock { $0 } == [true, false])
        try await client.close()
        await server.stop()
    }

    /// A read-only client and a read-only server change nothing, and look at everything.
    @Test func readOnlyLooks() async throws {
        let store = PenstockStore(InMemoryStore())
        _ = try await store.queue("mail", of: String.self)
        let server = try await TestServer.start(store, isReadOnly: true)
        let client = try await PenstockStore.open(url: server.url)
        #expect(try await client.queues().map(\.name.text) == ["mail"])
        let mail = try await client.queue("mail", of: String.self, create: false)
        await expect(.readOnly) { try await mail.enqueue("x") }
        try await client.close()
        await server.stop()
        let open = try await TestServer.start(store)
        let looker = try await PenstockStore.open(url: open.url, options: .init(access: .readOnly))
        await expect(.readOnly) { try await looker.storage.configure(mail.name, .pause) }
        try await looker.close()
        await open.stop()
    }

    private func withServer(_ body: (TestServer) async throws -> Void) async throws {
        let folder = TemporaryFolder()
        let store = try await PenstockStore.open(path: folder.file("queue.db"))
        let server = try await TestServer.start(store)
        try await body(server)
        await server.stop()
        try await store.close()
    }

    /// What comes over the wire are messages alone, so the server tells of it.
    @Test(arguments: [false, true]) func whatAClaimSetsAsideIsInTheServersLog(performs: Bool) async throws {
        let log = TestLog(from: .warning)
        let store = PenstockStore(SettingAsideStore(base: InMemoryStore()), options: .init(logger: log.logger))
        let queue = try await store.queue("mail").name
        let server = try await TestServer.start(store, keepsUp: false)
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil)
        let request = ClaimRequest(queue: queue, limit: 1, lease: .seconds(30))
        if performs { _ = try await client.perform([.claim(request)]) } else { _ = try await client.claim(request) }
        #expect(
            log.linesWithMetadata == [
                "row set aside, as it contradicts the rest of the store; `penstock doctor` says more queue=mail "
                    + "reason=Wrong. sequence=7"
            ])
        try await client.close()
        await server.stop()
    }
}

/// Reads something, and closes the connection.
private final class HangUp: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    let isAsked: @Sendable () -> Void

    init(_ isAsked: @escaping @Sendable () -> Void) {
        self.isAsked = isAsked
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isAsked()
        context.close(promise: nil)
    }
}

/// Expects an error of that code.
func expect(_ code: PenstockError.Code, _ body: () async throws -> Void) async {
    await #expect { try await body() } throws: { ($0 as? PenstockError)?.code == code }
}

/// A store whose waiters may rely on its rings for a minute, as on those of a file that is watched.
private struct PatientStore: ForwardingStore {
    let base: any MessageStore
    var lookInterval: Duration { .seconds(60) }

    init(_ base: any MessageStore) { self.base = base }
}
