import Penstock
import PenstockCore
import PenstockTestKit
import PenstockWire
import Testing

@testable import PenstockClient

/// A server whose clock is another one than its client's.
@Suite(.timeLimit(.minutes(5))) struct ClockTests {
    private let queue = QueueName(stored: "mail")

    private func withClient(
        ahead: Duration,
        _ body: (RemoteStore, InMemoryStore, _ here: ManualTime, _ there: ManualTime) async throws -> Void
    ) async throws {
        let (here, there) = (ManualTime(), ManualTime())
        here.set(wall: here.now + ahead)
        let base = InMemoryStore(time: there)
        let server = try await TestServer.start(PenstockStore(base, options: .init(time: there)), keepsUp: false)
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil, time: here)
        try await client.configure(queue, .create(QueuePolicy(), ifAbsent: true))
        try await body(client, base, here, there)
        try await client.close()
        await server.stop()
    }

    /// A client waits for the same moment by its own clock, also where it claims among other operations, as workers do.
    @Test(arguments: [Duration.seconds(3600), .seconds(-3600)], [false, true])
    func momentsAreThoseOfTheClientsClock(ahead: Duration, performs: Bool) async throws {
        try await withClient(ahead: ahead) { client, _, here, there in
            let messages = [NewMessage(payload: [1], due: .after(.seconds(60))), NewMessage(payload: [2])]
            _ = try await client.enqueue(messages, to: queue, durability: .powerLoss)
            there.advance(by: .seconds(5))
            here.advance(by: .seconds(5))
            let claim = try await claim(by: client, performs: performs)
            #expect(claim.nextDue == here.now + .seconds(55))
            #expect(claim.messages.map(\.enqueuedAt) == [here.now - .seconds(5)])
        }
    }

    private func claim(by client: RemoteStore, performs: Bool) async throws -> Claim {
        let request = ClaimRequest(queue: queue, limit: 2, lease: .seconds(30))
        guard performs else { return try await client.claim(request) }
        let performed = try await client.perform([.claim(request)])
        let claims = performed.answers.compactMap { if case .claimed(let claim) = $0 { claim } else { nil } }
        return try #require(claims.first)
    }

    /// A worker that goes on with a message looks at the clock here whether its time has come. By the server's clock alone it would come back at
    /// once, again and again, or much later.
    @Test(arguments: [Duration.seconds(3600), .seconds(-3600)], [false, true])
    func aMessageIsSuspendedUntilTheMomentByTheClientsClock(ahead: Duration, performs: Bool) async throws {
        try await withClient(ahead: ahead) { client, base, here, there in
            _ = try await client.enqueue([NewMessage(payload: [1])], to: queue, durability: .powerLoss)
            let claim = try await client.claim(ClaimRequest(queue: queue, limit: 1, lease: .seconds(30)))
            let settlement = Settlement(claim.messages[0].lease, .suspend(until: here.now + .seconds(60)))
            if performs {
                _ = try await client.perform([.settle([settlement])], flushed: nil)
            } else {
                #expect(try await client.settle([settlement]) == [.settled(.scheduled)])
            }
            let record = try await base.messages(MessageQuery(queue: queue)).records[0]
            #expect(record.due == there.now + .seconds(60))
        }
    }

    /// What passes on the way there and back is no difference of clocks.
    @Test func anAnswerThatTakesLongMovesNoMoments() async throws {
        let here = ManualTime()
        let begin = here.now
        let lease = Lease(sequence: SequenceNumber(rawValue: 1), token: LeaseToken(rawValue: 1))
        let message = ClaimedMessage(
            lease: lease, attempt: 1, enqueuedAt: begin, priority: 0, headers: [:], payload: [1], origin: nil)
        let answer = Claim(messages: [message], nextDue: begin + .seconds(60))
        let server = try await ScriptedServer.start { request in
            if request.path == WireFormat.ringPath { return ScriptedServer.greeting }
            here.advance(by: .seconds(3))
            var writer = WireWriter()
            writer(here.now, RemoteReply<Claim>.answer(answer))
            here.advance(by: .seconds(5))
            return ScriptedServer.response(writer.bytes)
        }
        let client = try await RemoteStore.open(server.url, token: nil, worker: nil, time: here)
        let claim = try await claim(by: client, performs: false)
        #expect(here.now == begin + .seconds(8))
        #expect(claim.nextDue == begin + .seconds(60))
        #expect(claim.messages.map(\.enqueuedAt) == [begin])
        try await client.close()
        try await server.stop()
    }

    /// What people name goes out as it is.
    @Test func aDueTimeIsTheServers() async throws {
        try await withClient(ahead: .seconds(3600)) { client, base, _, there in
            let due = there.now + .seconds(90)
            _ = try await client.enqueue([NewMessage(payload: [1], due: .at(due))], to: queue, durability: .powerLoss)
            #expect(try await base.messages(MessageQuery(queue: queue)).records[0].due == due)
        }
    }

    @Test func clocksThatMayBeTheSameAreTakenForThat() {
        func moment(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }
        let near = ClockDifference(asked: moment(10), read: moment(14), server: moment(12))
        #expect(near.here(moment(20)) == moment(20) && near.there(moment(20)) == moment(20))
        #expect(ClockDifference.unknown.here(moment(20)) == moment(20))
        // The client is ahead by 2 to 6 seconds, and by 5 to 9: no moment is to be too early on either side.
        let ahead = ClockDifference(asked: moment(14), read: moment(18), server: moment(12))
        #expect(ahead.there(moment(20)) == moment(18) && ahead.here(moment(20)) == moment(26))
        let narrowed = ahead.narrowed(by: ClockDifference(asked: moment(17), read: moment(21), server: moment(12)))
        #expect(narrowed.there(moment(20)) == moment(15) && narrowed.here(moment(20)) == moment(26))
        // A clock was set.
        #expect(narrowed.narrowed(by: near) == near)
        let behind = ClockDifference(asked: moment(4), read: moment(6), server: moment(12))
        #expect(behind.there(moment(20)) == moment(28) && behind.here(moment(20)) == moment(14))
    }
}
