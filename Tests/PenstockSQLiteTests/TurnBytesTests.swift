import Foundation
import GRDB
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// The turn of a message in a fair queue lies beside its payload, which SQLite writes anew where the turn needs another number of bytes. A
/// transaction has so many bytes written anew for turns, and no more: SQLite keeps all of it in memory until the COMMIT.
@Suite(.timeLimit(.minutes(5))) struct TurnBytesTests {
    private static let countScheduled = Query("SELECT sum(scheduled) FROM penstock_depth")
    private static let countBlocked = Query("SELECT sum(blocked) FROM penstock_depth")
    private static let raiseTurns = Query("UPDATE penstock_fair SET turn = 5000000000")

    private let four = NewMessage.text("four")

    /// One claim, in a transaction that may have so many bytes written anew.
    private func claim(_ file: RungFile, bytes: Int64) throws -> Claim {
        var claim = Claim(messages: [], nextDue: nil)
        try file.transact { transaction in
            transaction.bytesLeft = bytes
            claim = try file.claim(1, in: transaction)
        }
        return claim
    }

    /// Has thousands of messages of the queue claimed, after which turns need more bytes.
    private func claimThousands(_ file: RungFile) throws {
        try file.transact { try $0.connection.run(Self.raiseTurns) }
    }

    /// A fair queue with five messages of four bytes, which are due in a second.
    private func fileWithDue() throws -> RungFile {
        let file = try RungFile(QueuePolicy(isFair: true))
        let later = (1...5).map { _ in NewMessage.text("four", due: .after(.seconds(1)), group: "a") }
        try file.transact { _ = try Enqueue.perform(later, to: .jobs, durability: .processCrash, in: $0) }
        try claimThousands(file)
        return file
    }

    private func count(_ query: Query, in file: RungFile) throws -> Int64? {
        var count: Int64?
        try file.transact { count = try $0.connection.integer(query) }
        return count
    }

    @Test func aClaimFromAFairQueuePutsSoManyInLine() throws {
        let file = try fileWithDue()
        file.time.advance(by: .seconds(1))
        var left: [Int64?] = []
        var goOn: [Bool] = []
        for bytes: Int64 in [8, 0, 100] {
            let claim = try claim(file, bytes: bytes)
            #expect(claim.messages.count == 1)
            goOn.append(claim.nextDue != nil)
            left.append(try count(Self.countScheduled, in: file))
        }
        #expect(left == [3, 2, 0])
        #expect(goOn == [true, true, false], "The next claim goes on at once.")
    }

    /// Of two of a group that are due the one that was accepted first may not be in line yet.
    @Test func aClaimGivesNoneThatComesBehindOneThatIsDue() throws {
        let file = try RungFile(QueuePolicy(groups: .fifo(), isFair: true))
        for seconds in [2, 1] {
            try file.enqueue(.text("four", due: .after(.seconds(seconds)), group: "a"))
        }
        try claimThousands(file)
        file.time.advance(by: .seconds(2))
        let first = try claim(file, bytes: 1)
        #expect(first.messages.isEmpty && first.isWithheld)
        #expect(first.nextDue == file.time.now)
        #expect(try claim(file, bytes: 1).messages.map(\.lease.sequence) == [SequenceNumber(1)])
    }

    /// What other calls of its transaction forget, or have written anew, holds up no call that has nothing written anew.
    @Test func aPruningHoldsUpNoOtherOfItsTransaction() throws {
        let file = try RungFile()
        let later = NewMessage.text("four", due: .after(.seconds(1)))
        try file.enqueue(four, four, four, later, later, later)
        try file.transact { transaction in
            _ = try Appending.perform(
                [four, four], to: .mail, unless: nil, durability: .processCrash, in: transaction)
        }
        file.time.advance(by: .seconds(1))
        try file.transact { transaction in
            transaction.bytesLeft = 1
            let request = PruneRequest(retention: Retention(age: .zero))
            let step = try Pruning.perform(request, of: [.mail], besides: [:], from: nil, in: transaction)
            #expect(step.pruned == Pruned(messages: 1, hasMore: true))
            let cancelled = try Commanding.step(.cancel, on: .jobs, in: [.ready], [1, 2, 3], limit: 10, transaction)
            #expect(cancelled.moved == 3)
            #expect(cancelled.passed == 3)
            #expect(try file.claim(10, in: transaction).messages.count == 3, "All that are due came into line.")
        }
    }

    // MARK: Turns of one size

    /// Turns grow by a million with each message, so but for the first thousands all take six bytes.
    @Test func aMessageThatIsDueOrHasAPermitKeepsItsPayloadWhereItIs() async throws {
        let harness = SQLiteHarness()
        let store = try await harness.openWithJobs(QueuePolicy(groups: .limit(1), isFair: true))
        let turns = try DatabaseQueue(path: harness.path)
        // As after the claims of five thousand messages.
        try await turns.write { try $0.execute(sql: Self.raiseTurns.sql) }
        let payload = [UInt8](repeating: 7, count: 1_000_000)
        try await store.put(NewMessage(payload: payload, due: .after(.seconds(1)), group: "due"))
        try await store.put(.text("first", group: "a"))
        let blocked = [NewMessage](repeating: NewMessage(payload: payload, group: "a"), count: 2)
        _ = try await store.enqueue(blocked, to: .jobs, durability: .processCrash)
        let first = try #require(try await store.take(1).first)
        _ = try await turns.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        harness.time.advance(by: .seconds(1))
        _ = try await store.settle([Settlement(first.lease, .done)])
        #expect(try await store.take(2).count == 2)
        let log = try FileManager.default.attributesOfItem(atPath: harness.path + "-wal")
        #expect(try #require(log[.size] as? Int) < 500_000)
        try await store.close()
    }

    // MARK: Groups

    @Test(arguments: [nil, GroupPolicy.limit(5)])
    func aStepAfterAChangeOfGroupsPutsSoManyInLine(_ groups: GroupPolicy?) throws {
        let file = try RungFile(QueuePolicy(groups: .limit(1), isFair: true))
        let ofGroup = NewMessage.text("four", group: "a")
        try file.enqueue(ofGroup, ofGroup, ofGroup, ofGroup, ofGroup)
        try file.configure(.set(QueuePolicy(groups: groups, isFair: true)))
        var left: [Int64?] = []
        var areSettled: [Bool] = []
        for bytes: Int64 in [8, 0, 100] {
            try file.transact { transaction in
                transaction.bytesLeft = bytes
                areSettled.append(try Groups.settle(try transaction.account(of: .jobs), in: transaction))
            }
            left.append(try count(Self.countBlocked, in: file))
        }
        #expect(left == [2, 1, 0])
        #expect(areSettled == [false, false, true])
    }

    @Test func aClaimOfGroupsWhoseTimeHasComePutsSoManyInLine() throws {
        let rate = Rate(1, per: .seconds(60))
        let file = try RungFile(QueuePolicy(groups: .limit(1), ratePerKey: rate, isFair: true))
        for _ in 1...2 {
            for group in 1...5 { try file.enqueue(.text("four", group: "\(group)")) }
        }
        for _ in 1...5 { _ = try file.work(.done) }
        let early = try file.claim().message
        #expect(early == nil)
        file.time.advance(by: .seconds(60))
        var left: [Int64?] = []
        var goOn: [Bool] = []
        for bytes: Int64 in [8, 0, 100] {
            let claim = try claim(file, bytes: bytes)
            #expect(claim.messages.count == 1)
            goOn.append(claim.isWithheld && claim.nextDue == file.time.now)
            left.append(try count(Self.countBlocked, in: file))
        }
        #expect(left == [3, 2, 0])
        #expect(goOn == [true, true, false])
    }

    // MARK: Commands

    /// Carries out a command on messages from the first on, each step in a transaction that may have so many bytes written anew, and on what
    /// the steps before it have left.
    ///
    /// - Returns: how many messages each has moved, and what the last one has left.
    private func carryOut(
        _ command: LineCommand, in states: Set<MessageState>, _ file: RungFile, to last: Int64,
        _ steps: [(bytes: Int64, limit: Int)]
    ) throws -> (moved: [Int], left: [Int64]) {
        var left = Array(1...last)
        var moved: [Int] = []
        for (bytes, limit) in steps {
            try file.transact { transaction in
                transaction.bytesLeft = bytes
                let step = try Commanding.step(command, on: .jobs, in: states, left, limit: limit, transaction)
                moved.append(step.moved)
                left.removeFirst(step.passed)
            }
        }
        return (moved, left)
    }

    @Test func aCommandForAFairQueueTellsWhereItStopped() throws {
        let file = try fileWithDue()
        let (moved, left) = try carryOut(
            .redrive, in: [.scheduled], file, to: 5, [(8, 10), (0, 10), (100, 1), (100, 10)])
        #expect(moved == [2, 1, 1, 0])
        #expect(left == [], "The limit of the third one was its last message.")
        #expect(try count(Self.countScheduled, in: file) == 1)
    }

    @Test func aCommandThatAsksWorkersPassesNoneOverWhereItStopped() throws {
        let file = try RungFile(QueuePolicy(groups: .fifo(), isFair: true))
        let ofGroup = NewMessage.text("four", group: "a")
        try file.enqueue(ofGroup, ofGroup, .text("held", priority: 1, group: "b"), ofGroup)
        #expect(try file.claim().message?.lease.sequence == SequenceNumber(3))
        try claimThousands(file)
        let (moved, left) = try carryOut(
            .requestCancel(), in: [.ready, .blocked, .leased], file, to: 4, [(4, 4), (100, 2)])
        #expect(moved == [2, 2], "The first one asks for the third message, and lets the second one in line.")
        #expect(left == [])
    }

    @Test func aCommandForAFairQueueOfLargeMessagesGoesInSteps() async throws {
        let harness = SQLiteHarness()
        let steps = Tally()
        let store = try await harness.openWithJobs(QueuePolicy(isFair: true), afterStep: { steps.add() })
        let payload = [UInt8](repeating: 7, count: Limits.payloadBytesMax)
        for _ in 1...4 {
            try await store.put(NewMessage(payload: payload, due: .after(.seconds(3600))))
        }
        #expect(try await store.apply(.redrive, to: .queue(.jobs, states: [.scheduled])) == 4)
        #expect(steps.count == 1, "There is one between two steps.")
        #expect(try await store.depths().ready == 4)
        try await store.close()
    }
}
