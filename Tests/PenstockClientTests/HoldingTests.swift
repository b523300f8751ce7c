import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockClient

/// What a client holds, and gives back when it is closed.
@Suite(.timeLimit(.minutes(5))) struct HoldingTests {
    private let mail = QueueName(stored: "mail")

    /// A server of messages, whose claims wait for the test, a client of it, and the server's store.
    private struct Place {
        let store = InMemoryStore()
        let claims = Tally()
        let settles = Tally()
        let mayAnswer = Latch()
        let server: TestServer
        let client: RemoteStore

        init(_ queue: QueueName, count: Int, bytes: Int = 4000) async throws {
            let held = HeldUpStore(base: store, claims: claims, settles: settles, mayAnswer: mayAnswer)
            try await store.configure(queue, .create(QueuePolicy(), ifAbsent: true))
            let payload = [UInt8](repeating: 7, count: bytes)
            _ = try await store.enqueue(
                Array(repeating: NewMessage(payload: payload), count: count), to: queue, durability: .powerLoss)
            server = try await TestServer.start(PenstockStore(held), keepsUp: false)
            client = try await RemoteStore.open(server.url, token: nil, worker: WorkerName("mill:1"))
        }
    }

    /// A store whose claims are answered when the test says so.
    private struct HeldUpStore: ForwardingStore {
        let base: any MessageStore
        let claims: Tally
        let settles: Tally
        let mayAnswer: Latch

        func claim(_ request: ClaimRequest) async throws -> Claim {
            let claim = try await base.claim(request)
            claims.add()
            await mayAnswer.waitThoughCancelled()
            return claim
        }

        func settle(_ settlements: [Settlement]) async throws -> [SettleResult] {
            settles.add()
            return try await base.settle(settlements)
        }
    }

    @Test func aCloseInACancelledTaskGivesBackWhatIsHeld() async throws {
        let place = try await Place(mail, count: 3)
        place.mayAnswer.open()
        _ = try await place.client.claim(ClaimRequest(queue: mail, limit: 3, lease: .seconds(30)))
        try await cancelledClose(of: place.client).value
        #expect(try await place.store.status(of: mail).queues[0].depths.ready == 3)
        await place.server.stop()
    }

    /// Workers, readers and buffers claim in calls that do other things as well.
    @Test func whatWasClaimedAmongOtherOperationsIsGivenBackToo() async throws {
        let place = try await Place(mail, count: 3)
        place.mayAnswer.open()
        let claim = StoreOperation.claim(ClaimRequest(queue: mail, limit: 2, lease: .seconds(30)))
        let message = StoreOperation.enqueue([NewMessage(payload: [1])], to: mail, durability: .processCrash)
        #expect(try await place.client.perform([message, claim, claim]).answers.count == 3)
        #expect(try await place.store.status(of: mail).queues[0].depths.leased == 4)
        try await place.client.close()
        let depths = try await place.store.status(of: mail).queues[0].depths
        #expect(depths.ready == 4 && depths.leased == 0)
        await place.server.stop()
    }

    /// More than one call gives back.
    @Test func aCloseGivesBackAllOfManyMessages() async throws {
        let place = try await Place(mail, count: 2500, bytes: 1)
        place.mayAnswer.open()
        var count = 0
        for _ in 1...3 {
            count += try await place.client.claim(ClaimRequest(queue: mail, limit: 1000, lease: .seconds(30)))
                .messages.count
        }
        #expect(count == 2500)
        try await place.client.close()
        let depths = try await place.store.status(of: mail).queues[0].depths
        #expect(depths.ready == 2500 && depths.leased == 0)
        #expect(place.settles.count == 3)
        await place.server.stop()
    }

    /// The claim's answer takes long to read: what it gave is given back all the same.
    @Test(arguments: [false, true])
    func aCloseWaitsForClaimsAndGivesBackWhatTheyGave(isCancelled: Bool) async throws {
        let place = try await Place(mail, count: 1000)
        let claim = Task { [mail] in
            try await place.client.claim(ClaimRequest(queue: mail, limit: 1000, lease: .seconds(30)))
        }
        try await place.claims.wait(for: 1)
        let closing = isCancelled ? cancelledClose(of: place.client) : Task { try await place.client.close() }
        // From then on it waits.
        try await eventually {
            do {
                _ = try await place.client.limits()
                return false
            } catch let error as PenstockError where error.code == .closed { return true }
        }
        place.mayAnswer.open()
        try await closing.value
        #expect(try await claim.value.messages.count == 1000)
        let depths = try await place.store.status(of: mail).queues[0].depths
        #expect(depths.ready == 1000 && depths.leased == 0)
        await place.server.stop()
    }

    private func cancelledClose(of client: RemoteStore) -> Task<Void, any Error> {
        Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await client.close()
        }
    }

    /// A program may let deliveries go that it has not settled. They come back by themselves, and are no more to be known of.
    @Test func leasesThatHaveEndedAreForgotten() {
        let time = ManualTime()
        let held = HeldLeases(time: time)
        let long = leases(0..<1)
        held.add(leases(0..<HeldLeases.sweepCountMin), for: .seconds(30))
        held.extend(long[0], by: .seconds(60), keepsLonger: false)
        time.advance(by: .seconds(31))
        for start in stride(from: 1000, to: 10_000, by: 100) {
            held.add(leases(start..<start + 100), for: .seconds(30))
            time.advance(by: .seconds(31))
        }
        #expect(held.count <= 2 * HeldLeases.sweepCountMin)
        held.remove(long)
        let last = leases(20_000..<20_002)
        held.add(last, for: .seconds(30))
        #expect(Set(held.takeAll()).isSuperset(of: last) && held.count == 0)
    }

    /// What a delivery has made longer is given back at the close, and what it has made shorter is forgotten when that is over.
    @Test func aLeaseIsHeldUntilTheEndThatItWasGivenLast() {
        let time = ManualTime()
        let held = HeldLeases(time: time)
        let count = HeldLeases.sweepCountMin
        let first = leases(0..<count)
        held.add(first, for: .seconds(30))
        held.extend(first[0], by: .seconds(60), keepsLonger: false)
        held.extend(first[1], by: .seconds(60), keepsLonger: true)
        held.extend(first[2], by: .seconds(10), keepsLonger: true)
        held.extend(first[3], by: .seconds(10), keepsLonger: false)
        // Those that have ended are looked for when there are twice as many.
        time.advance(by: .seconds(11))
        held.add(leases(count..<2 * count), for: .seconds(60))
        #expect(held.count == 2 * count - 1, "The one that was made shorter has ended.")
        time.advance(by: .seconds(20))
        held.add(leases(2 * count..<4 * count), for: .seconds(60))
        #expect(held.count == 3 * count + 2, "Two of the first have not ended.")
        #expect(Set(held.takeAll()).isSuperset(of: first[0...1]))
    }

    private func leases(_ numbers: Range<Int>) -> [Lease] {
        numbers.map(Int64.init).map {
            Lease(sequence: SequenceNumber(rawValue: $0), token: LeaseToken(rawValue: $0))
        }
    }
}
