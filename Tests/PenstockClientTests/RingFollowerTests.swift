import Penstock
import PenstockCore
import PenstockTestKit
import PenstockWire
import Testing

@testable import PenstockClient

/// How a client goes on to hear rings: when its server has been away, and when somebody comes as it has just ceased to listen.
@Suite(.timeLimit(.minutes(5))) struct RingFollowerTests {
    private let queue = QueueName(stored: "mail")
    private let time = ManualTime()
    private let requests = Tally()

    /// A server that is away for some of the requests, by their numbers. Others are rung for at once, but for those that are not.
    private func server(awayFor away: Set<Int>, silentFor silent: Set<Int> = []) async throws -> ScriptedServer {
        try await ScriptedServer.start { [requests] _ in
            let number = requests.add()
            if away.contains(number) {
                return ScriptedServer.response(status: 502, type: "text/html", Array("<html>of a proxy</html>".utf8))
            }
            var writer = WireWriter()
            writer(
                RingAnswer(
                    isRung: !silent.contains(number), ring: UInt64(number), server: 1, lookInterval: .seconds(30),
                    store: nil))
            return ScriptedServer.response(writer.bytes)
        }
    }

    /// Calls `body` with a follower that has greeted the server, which is the first request, and follows.
    private func follow(_ server: ScriptedServer, _ body: (RingFollower) async throws -> Void) async throws {
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        let follower = RingFollower(connection, time: time, random: SeededRandom(seed: 1))
        try await follower.greet()
        let running = Task { await follower.run() }
        try await body(follower)
        running.cancel()
        await running.value
        await connection.close()
        try await server.stop()
    }

    /// No ring would come from there.
    @Test func withoutItsServerAllLookByThemselves() async throws {
        try await follow(try await server(awayFor: [2])) { follower in
            let here = follower.changes
            #expect(follower.lookInterval == .seconds(30))
            let token = here.token(for: queue)
            async let heard: Void = here.waitForWork(in: queue, after: token)
            try await time.waitForSleepers()
            #expect(follower.lookInterval == .seconds(1))
            time.advanceToNextDeadline()
            try await heard
            #expect(follower.lookInterval == .seconds(30))
        }
    }

    /// Each outage begins with short pauses, however many there have been.
    @Test func afterAnAnswerPausesAreShortAgain() async throws {
        try await follow(try await server(awayFor: [2, 3, 4, 5, 6, 7, 9], silentFor: [8])) { follower in
            let here = follower.changes
            let token = here.token(for: queue)
            async let heard: Void = here.waitForWork(in: queue, after: token)
            var last = Duration.zero
            for number in 2...7 {
                try await requests.wait(for: number)
                try await time.waitForSleepers()
                last = try pause()
                time.advanceToNextDeadline()
            }
            #expect(last > .seconds(3))
            try await requests.wait(for: 9)
            try await time.waitForSleepers()
            #expect(try pause() <= .milliseconds(200))
            time.advanceToNextDeadline()
            try await heard
        }
    }

    private func pause() throws -> Duration {
        try #require(time.nextDeadline) - time.now
    }

    /// Whoever begins to wait is not followed anew as long as somebody follows there, also when that is about to end.
    @Test func whoComesAsTheFollowerEndsIsFollowed() async throws {
        let store = PenstockStore(InMemoryStore())
        let there = store.storage.changes
        let server = try await TestServer.start(store, keepsUp: false)
        let other = QueueName(stored: "other")
        let (ends, mayEnd) = (Latch(), Latch())
        let connection = try ServerConnection(try ServerURL(server.url), token: nil)
        let follower = RingFollower(
            connection, time: SystemTime(), random: SeededRandom(seed: 1),
            endBegins: {
                ends.open()
                await mayEnd.waitThoughCancelled()
            })
        try await follower.greet()
        let running = Task { await follower.run() }
        let here = follower.changes
        // The first request is answered at once, as the server's rings are not known yet.
        try await here.waitForWork(in: queue, after: here.token(for: queue))
        try await ends.wait()
        let token = here.token(for: queue)
        async let heard: Void = here.waitForWork(in: queue, after: token)
        try await here.waitForWaiters(count: 1)
        // Places are gone through in the order in which they were waited at: the queue's was found to be followed before this one.
        try await here.waitForWork(in: other, after: here.token(for: other))
        mayEnd.open()
        try await there.waitForWaiters(count: 1)
        there.ring(queue)
        try await heard
        running.cancel()
        await running.value
        await connection.close()
        await server.stop()
    }
}
