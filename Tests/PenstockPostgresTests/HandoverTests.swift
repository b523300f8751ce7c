import PenstockCore
import PenstockProcesses
import PenstockSQL
import PenstockTestKit
import Testing

@testable import PenstockPostgres

/// Processes of one machine that carry out each other's enqueues, here stores of one process, and what becomes of a call when the one
/// that has it in hand is gone.
@Suite(.enabled(if: PostgresServer.programs != nil, "This machine has no PostgreSQL."), .timeLimit(.minutes(5)))
struct HandoverTests {
    private let url: String
    private let address: ServerAddress
    private let jobs: QueueName
    private let server: ServerConnection
    /// The test as another process of the machine.
    private let host: SameHost

    init() async throws {
        let schema = try await ClosedSchema()
        (url, address, jobs, server) = (schema.url, schema.address, schema.jobs, schema.server)
        host = try #require(SameHost(server, address))
    }

    private func opened(lockWaitMax: Duration) async throws -> PostgresStore {
        var options = PostgresStore.Options()
        options.lockWaitMax = lockWaitMax
        return try await PostgresStore.open(url: url, options: options)
    }

    private static func put(_ text: String, _ store: PostgresStore) async throws -> Receipt {
        try await store.enqueue([NewMessage(payload: Array(text.utf8))], to: QueueName("jobs"), durability: .powerLoss)[
            0]
    }

    /// The request that another store has posted.
    private func posted() async throws -> WriterSlots.Taken {
        let slots = try #require(host.lock.slots)
        var taken: [WriterSlots.Taken] = []
        try await eventually {
            taken = slots.take(besides: nil)
            return !taken.isEmpty
        }
        return try #require(taken.first)
    }

    /// The same, and the call in it.
    private func postedCall() async throws -> (request: WriterSlots.Taken, call: PostedCall) {
        let taken = try await posted()
        return (taken, try #require(PostedCall.read(taken.bytes, now: SystemTime().now).first))
    }

    /// A store that was at the server before, and cannot write by itself: the test has the lock.
    private func openedBehindTheLock() async throws -> PostgresStore {
        let store = try await opened(lockWaitMax: .seconds(30))
        _ = try await Self.put("connects", store)
        #expect(host.lock.tryAcquire())
        return store
    }

    /// What another process says that a call gave, of a message that is not there.
    private static let untrue = Receipt(sequence: SequenceNumber(77), state: .ready, durability: .powerLoss)

    private var payloads: [String] {
        get throws {
            let rows = try server.run("SELECT convert_from(payload, 'UTF8') FROM penstock_log ORDER BY sequence")
            return (0..<rows.rowCount).map { rows.text($0, 0) }
        }
    }

    @Test func aCallTravelsInTheTransactionOfTheProcessThatWrites() async throws {
        let (first, second) = (try await opened(lockWaitMax: .seconds(30)), try await opened(lockWaitMax: .seconds(30)))
        // The first waits for the server's lock, and the second for the first.
        try server.run("BEGIN; SELECT penstock_write_lock()")
        async let one = Self.put("one", first)
        let watch = try Sessions.connect(to: address, busyMax: .seconds(60))
        try await eventually { try watch.hasWaiter }
        async let two = Self.put("two", second)
        let slots = try #require(host.lock.slots)
        try await eventually { (0..<WriterSlots.count).contains { slots.word(of: $0).state == .posted } }
        try server.run("COMMIT")
        let receipts = try await [one, two]
        #expect(Set(receipts.map(\.sequence)).count == 2)
        #expect(receipts.allSatisfy { $0.durability == .powerLoss && $0.state == .ready })
        #expect(try Set(payloads) == ["one", "two"])
        #expect(try server.run("SELECT 1 FROM penstock_writer WHERE receipts IS NOT NULL").rowCount == 1)
        try await first.close()
        try await second.close()
    }

    /// What comes together, and from several processes, to a store whose queues move to another one is refused all the same.
    @Test(arguments: ["draining", "moved"]) func aStoreThatIsLeftTakesNothing(phase: String) async throws {
        let (first, second) = (try await opened(lockWaitMax: .seconds(30)), try await opened(lockWaitMax: .seconds(30)))
        try server.run("BEGIN; SELECT penstock_write_lock()")
        async let one = errorCode { _ = try await Self.put("one", first) }
        let watch = try Sessions.connect(to: address, busyMax: .seconds(60))
        try await eventually { try watch.hasWaiter }
        async let two = errorCode { _ = try await Self.put("two", second) }
        let slots = try #require(host.lock.slots)
        try await eventually { (0..<WriterSlots.count).contains { slots.word(of: $0).state == .posted } }
        try server.run("UPDATE penstock_state SET moving = '\(phase)'; COMMIT")
        let codes = await [one, two]
        #expect(codes == [.storeMoved, .storeMoved])
        #expect(try payloads.isEmpty)
        try await first.close()
        try await second.close()
    }

    /// The local lock only spares the server work: nobody waits for long for a process that does not let go of it.
    @Test func aProcessThatKeepsTheLockStopsNobody() async throws {
        #expect(host.lock.tryAcquire())
        let store = try await opened(lockWaitMax: .milliseconds(1))
        _ = try await Self.put("one", store)
        let claim = try await store.claim(ClaimRequest(queue: jobs, limit: 1, lease: .seconds(30)))
        #expect(try await store.settle(claim.messages.map { Settlement($0.lease, .done) }) == [.settled(.done)])
        host.lock.release()
        try await store.close()
    }

    /// It has taken the request, and dies or is stopped before its transaction has done anything with it.
    @Test(arguments: [true, false])
    func aCallIsMadeByItsOwnProcessWhenTheOtherOneDoesNothing(lockIsFree: Bool) async throws {
        #expect(host.lock.tryAcquire())
        let store = try await opened(lockWaitMax: lockIsFree ? .seconds(30) : .milliseconds(1))
        async let receipt = Self.put("one", store)
        if lockIsFree {
            _ = try await posted()
            host.lock.release()
        }
        #expect(try await receipt.durability == .powerLoss)
        #expect(try payloads == ["one"])
        if !lockIsFree { host.lock.release() }
        try await store.close()
    }

    /// It commits, and dies before it says so, or before the disk has it.
    @Test func aCallThatWasCarriedOutIsFoundAndNotMadeAgain() async throws {
        #expect(host.lock.tryAcquire())
        let store = try await opened(lockWaitMax: .seconds(30))
        async let receipt = Self.put("one", store)
        let (taken, call) = try await postedCall()
        // What the process that has the lock does.
        let connection = PostgresConnection(server)
        try server.run("BEGIN; SELECT penstock_write_lock()")
        try server.run(
            "INSERT INTO penstock_messages (queue, payload) VALUES ('\(call.queue)', 'other')")
        let sequence = try #require(Int64(try server.run("SELECT max(sequence) FROM penstock_log").text(0, 0)))
        let given = Receipt(sequence: SequenceNumber(sequence), state: .ready, durability: .powerLoss)
        let answer = RequestAnswer(
            slot: taken.slot, ticket: taken.ticket, bytes: PostedAnswer.bytes(of: [[given]], to: [call]))
        try HostAnswers(number: #require(host.lock.slots).number).write([answer], connection)
        try server.run("COMMIT")
        host.lock.release()
        #expect(try await receipt == given)
        #expect(try payloads == ["other"])
        try await store.close()
    }

    /// The server that had the row was given up for another one, which does not have it.
    @Test func aCallWhoseRowIsGoneIsMadeAgain() async throws {
        let store = try await openedBehindTheLock()
        async let receipt = Self.put("one", store)
        let (taken, call) = try await postedCall()
        // The writer lock, so that the store asks once more only when the row is gone.
        let lock = "(1346719315::BIGINT << 32) | 'penstock_state'::regclass::oid::BIGINT"
        try server.run("SELECT pg_advisory_lock(\(lock))")
        let answer = RequestAnswer(
            slot: taken.slot, ticket: taken.ticket, bytes: PostedAnswer.bytes(of: [[Self.untrue]], to: [call]))
        let slots = try #require(host.lock.slots)
        try HostAnswers(number: slots.number).write([answer], PostgresConnection(server))
        let watch = try Sessions.connect(to: address, busyMax: .seconds(60))
        try await eventually { try watch.hasWaiter }
        try server.run("DELETE FROM penstock_writer WHERE receipts IS NOT NULL")
        host.lock.release()
        try server.run("SELECT pg_advisory_unlock(\(lock))")
        #expect(try await receipt.sequence != Self.untrue.sequence)
        #expect(try payloads == ["connects", "one"])
        try await store.close()
    }

    /// Damaged memory may offer a request again.
    @Test func aRequestIsWrittenDownOnce() throws {
        let connection = PostgresConnection(server)
        let answers = HostAnswers(number: 7)
        try answers.write([RequestAnswer(slot: 3, ticket: 9, bytes: [1])], connection)
        let again = #expect(throws: ServerError.self) {
            try answers.write([RequestAnswer(slot: 3, ticket: 9, bytes: [2])], connection)
        }
        #expect(again?.isContradiction == true)
        try answers.write([RequestAnswer(slot: 3, ticket: 10, bytes: [3])], connection)
        #expect(try answers.find(slot: 3, ticket: 10, connection) == [3])
        #expect(try answers.find(slot: 3, ticket: 9, connection) == nil)
        #expect(try HostAnswers(number: 8).find(slot: 3, ticket: 10, connection) == nil)
    }

    /// A call is not refused for what came into its transaction from another process.
    @Test func aRequestThatCannotBeCarriedOutFailsNoOtherCall() async throws {
        let others = try #require(WriterSlots(in: host.folder.folder))
        let slot = try #require(WriterSlot(of: others))
        let call = try #require(PostedCall([NewMessage(payload: [1])], to: jobs, durability: .processCrash))
        _ = slot.begin { PostedCall.write([call], to: &$0) }
        // It was carried out already, says the server.
        let slots = try #require(host.lock.slots)
        let answer = RequestAnswer(slot: slot.number, ticket: slot.ticket, bytes: [])
        try HostAnswers(number: slots.number).write([answer], PostgresConnection(server))
        let store = try await opened(lockWaitMax: .seconds(30))
        #expect(try await Self.put("one", store).state == .ready)
        #expect(try payloads == ["one"])
        try await store.close()
    }

    /// A slot has a row for so many requests, and those that nobody waits for are removed.
    @Test func rowsOfEarlierRequestsGo() throws {
        let connection = PostgresConnection(server)
        let answers = HostAnswers(number: 7)
        for ticket in stride(from: 1, to: 4096, by: 2) {
            try answers.write([RequestAnswer(slot: 3, ticket: UInt64(ticket), bytes: [1])], connection)
        }
        #expect(try server.run("SELECT 1 FROM penstock_writer WHERE receipts IS NOT NULL").rowCount == 1)
        // Others hand over now and then, and never at the time when the row before goes.
        var owner = answers
        try owner.removeLeft(before: WriterAccess.Request(slot: 3, ticket: 4096), connection)
        for era in 16..<24 {
            try answers.write(
                [RequestAnswer(slot: 3, ticket: UInt64(era * 256 + 100), bytes: [1])], connection)
        }
        try owner.removeLeft(before: WriterAccess.Request(slot: 3, ticket: 23 * 256 + 101), connection)
        // The last one, and the one that was there before its owner had looked.
        #expect(try server.run("SELECT 1 FROM penstock_writer WHERE receipts IS NOT NULL").rowCount == 2)
    }

    /// While a process asks the server what became of its call, nobody may take the call again: the server's lock is free between the
    /// answer and what the process does next.
    @Test func aCallThatIsBeingDecidedIsNotTakenAgain() async throws {
        let slots = try #require(host.lock.slots)
        #expect(host.lock.tryAcquire())
        let store = try await opened(lockWaitMax: .seconds(3))
        try server.run("BEGIN; SELECT penstock_write_lock()")
        async let receipt = Self.put("one", store)
        let taken = try await posted()
        let watch = try Sessions.connect(to: address, busyMax: .seconds(60))
        try await eventually { try watch.hasWaiter }
        // The one that has it gives it back, as its transaction came to nothing, and takes what there is for the next.
        slots.giveBack([taken])
        #expect(slots.take(besides: nil).isEmpty)
        try server.run("ROLLBACK")
        #expect(try await receipt.state == .ready)
        #expect(try payloads == ["one"])
        host.lock.release()
        try await store.close()
    }

    /// A process may still write to a server that was given up for another one, and say that it is done.
    @Test func whatAnotherServerHasIsNotTakenForDone() async throws {
        let slots = try #require(host.lock.slots)
        let store = try await openedBehindTheLock()
        async let receipt = Self.put("one", store)
        let (taken, call) = try await postedCall()
        slots.finish(taken, answer: [1, 2, 3, 4, 5, 6, 7, 8] + PostedAnswer.bytes(of: [[Self.untrue]], to: [call]))
        #expect(try await receipt.sequence != Self.untrue.sequence)
        #expect(try payloads == ["connects", "one"])
        host.lock.release()
        try await store.close()
    }

    /// Calls of other processes that wait for a flush keep no thread when the server is gone.
    @Test func aFlushForOthersEnds() async throws {
        let slots = try #require(host.lock.slots)
        let others = try #require(WriterSlots(in: host.folder.folder))
        let slot = try #require(WriterSlot(of: others))
        let call = try #require(PostedCall([NewMessage(payload: [1])], to: jobs, durability: .powerLoss))
        _ = slot.begin { PostedCall.write([call], to: &$0) }
        let requests = PostedRequest.taken(from: slots, besides: nil, at: SystemTime().now)
        #expect(requests.count == 1 && requests[0].awaitsFlush)
        let nowhere = try ServerAddress("postgres://penstock@127.0.0.1:1/postgres")
        let sessions = Sessions(nowhere, busyMax: .milliseconds(50))
        let flushes = FlushLine(sessions, slots: slots)
        flushes.add(
            FlushLine.Entry(
                jobs: [], mark: CommitMark(writer: 1, number: 1), requests: requests, life: try ServerLife(server),
                begunAt: .now))
        try await SystemThread.run { flushes.close() }
        #expect(slot.state == .taken)
    }
}
