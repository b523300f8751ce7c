import Penstock
import PenstockCore
import PenstockHTTP
import PenstockTestKit
import PenstockWire
import Testing

@testable import PenstockClient

/// How a client hears what rings at its server.
@Suite(.timeLimit(.minutes(5))) struct RingTests {
    private let store = PenstockStore(InMemoryStore())
    private var there: Wakeups { store.storage.changes }

    /// Rings at the server for one message, and so wakes one of those who wait for work there: whoever came first.
    private func ringForOneMessage(in queue: QueueName) {
        there.ring(at: RingBucket.of(queue)) { _ in 1 }
    }

    /// Waits for work at the server, as a client does that has heard all rings so far.
    private func waitForWork(in queue: QueueName, by connection: ServerConnection) async throws -> RingAnswer {
        let first = try await ask(
            RingWait(bucket: RingBucket.of(queue), bell: .work, after: 0, server: 0, room: 1), connection)
        return try await ask(
            RingWait(bucket: RingBucket.of(queue), bell: .work, after: first.ring, server: first.server, room: 1),
            connection)
    }

    private func ask(_ wait: RingWait, _ connection: ServerConnection) async throws -> RingAnswer {
        var writer = WireWriter()
        writer(wait)
        let bytes = try await connection.answer(
            to: writer.bytes, at: WireFormat.ringPath, .reading, within: ServerConnection.callTime)
        var reader = WireReader(bytes, isFromStore: true)
        return try reader()
    }

    /// A ring that wakes this client, when nobody waits here any more, wakes somebody else at the server.
    @Test func aRingThatNobodyHeedsIsPassedOn() async throws {
        let server = try await TestServer.start(store)
        let mail = try await store.queue("mail", of: String.self)
        let client = try await RemoteStore.open(server.url, token: nil, worker: WorkerName("mill:1"))
        let here = client.changes
        // The first request is answered at once, as the client does not know the server's rings yet.
        try await here.waitForWork(in: mail.name, after: here.token(for: mail.name))
        let token = here.lastRing(for: .work, at: RingBucket.of(mail.name))
        let forgotten = Task { try await here.waitForWork(in: mail.name, after: token) }
        try await there.waitForWaiters(count: 1)
        let other = there.lastRing(for: .work, at: RingBucket.of(mail.name))
        async let heard: Void = there.waitForWork(in: mail.name, after: other)
        try await there.waitForWaiters(count: 2)
        forgotten.cancel()
        _ = try? await forgotten.value
        // The server knows nothing of it: the request of the client stays, and is the first that the message wakes.
        #expect(there.waiterCount == 2)
        ringForOneMessage(in: mail.name)
        try await heard
        try await client.close()
        await server.stop()
    }

    /// A client that goes while it waits may have been woken a moment ago, and others are woken in its place.
    @Test func aRingThatAClientMayHaveTakenAlongIsPassedOn() async throws {
        let server = try await TestServer.start(store, keepsUp: false)
        let mail = try await store.queue("mail").name
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        let leaving = Task { try await waitForWork(in: mail, by: connection) }
        try await there.waitForWaiters(count: 1)
        let token = there.lastRing(for: .work, at: RingBucket.of(mail))
        async let heard: Void = there.waitForWork(in: mail, after: token)
        try await there.waitForWaiters(count: 2)
        leaving.cancel()
        _ = await leaving.result
        try await heard
        await connection.close()
        await server.stop()
    }

    /// A token that is taken back while its holder waits: he is told of nothing more, and what he was woken for goes to somebody else.
    @Test func aRingForATokenThatWasTakenBackIsPassedOn() async throws {
        let other = "other \(TokenServer.secret("other")) consume"
        let tokens = try Tokens("first \(TokenServer.secret("first")) consume\n\(other)")
        let server = try await TestServer.start(store, tokens: tokens, keepsUp: false)
        let mail = try await store.queue("mail").name
        let connections = try ["first", "other"].map {
            try ServerConnection(try ServerURL(server.url), token: TokenServer.secret($0))
        }
        let refused = Task { try await waitForWork(in: mail, by: connections[0]) }
        try await there.waitForWaiters(count: 1)
        let heard = Task { try await waitForWork(in: mail, by: connections[1]) }
        try await there.waitForWaiters(count: 2)
        tokens.become(try Tokens(other))
        ringForOneMessage(in: mail)
        await expect(.forbidden) { _ = try await refused.value }
        #expect(try await heard.value.isRung)
        for connection in connections { await connection.close() }
        await server.stop()
    }

    /// A client that waits at more places than it follows looks by itself, and follows where it can.
    @Test func whereTooManyPlacesAreWaitedForAllAreLookedAt() async throws {
        let server = try await TestServer.start(store)
        let (first, second) = (QueueName(stored: "first"), QueueName(stored: "second"))
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        let follower = RingFollower(connection, time: SystemTime(), random: SeededRandom(seed: 1), placesMax: 1)
        try await follower.greet()
        let running = Task { await follower.run() }
        let here = follower.changes
        // The first request is answered at once, as the server's rings are not known yet.
        for queue in [first, second] { try await here.waitForWork(in: queue, after: here.token(for: queue)) }
        let tokens = [first, second].map { here.lastRing(for: .work, at: RingBucket.of($0)) }
        #expect(follower.lookInterval == store.storage.lookInterval)

        async let firstHeard: Void = here.waitForWork(in: first, after: tokens[0])
        try await there.waitForWaiters(count: 1)
        async let secondHeard: Void = here.waitForWork(in: second, after: tokens[1])
        try await here.waitForWaiters(count: 2)
        try await eventually { follower.lookInterval == .seconds(1) }
        there.ring(first)
        try await firstHeard
        try await there.waitForWaiters(count: 1)
        #expect(follower.lookInterval == store.storage.lookInterval)
        there.ring(second)
        try await secondHeard
        running.cancel()
        await running.value
        await connection.close()
        await server.stop()
    }
}
