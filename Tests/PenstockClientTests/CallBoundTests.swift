import Penstock
import PenstockCore
import PenstockTestKit
import PenstockWire
import Testing

@testable import PenstockClient

/// What one call may ask of a server, and what it may be answered with: whatever is sent, the server lives, and its memory has a bound.
@Suite(.timeLimit(.minutes(5))) struct CallBoundTests {
    private let mail = TokenServer.mail

    /// The server adds up what the claims of a call may answer with before the store looks at their limits.
    @Test(arguments: [Int.min, -1 << 39, -10_000, -1, 0, .max])
    func aLimitThatNoClaimHasIsRefused(_ limit: Int) async throws {
        try await TokenServer.run { (_, open) async throws in
            let consumer = try await open("consumer")
            let wrong = StoreOperation.claim(ClaimRequest(queue: mail, limit: limit, lease: .seconds(30)))
            let good = StoreOperation.claim(ClaimRequest(queue: mail, limit: 10, lease: .seconds(30)))
            await expect(.invalidInput) { _ = try await consumer.perform([wrong, wrong]) }
            await expect(.invalidInput) {
                _ = try await consumer.claim(ClaimRequest(queue: mail, limit: limit, lease: .seconds(30)))
            }
            #expect(try await consumer.perform([good]).answers.count == 1)
            try await consumer.close()
        }
    }

    /// A claim with a limit below zero makes no room for others.
    @Test func noClaimPaysForOthers() async throws {
        try await TokenServer.run { (_, open) async throws in
            let consumer = try await open("consumer")
            let claims = ([10_000, 10_000, 10_000, 10_000, 10_000, -50_000] as [Int]).map {
                StoreOperation.claim(ClaimRequest(queue: mail, limit: $0, lease: .seconds(30)))
            }
            await expect(.invalidInput) { _ = try await consumer.perform(claims) }
            try await consumer.close()
        }
    }

    /// What verdicts bring into line is written in their transaction, and counts like what is enqueued. A worker hands verdicts in alone
    /// that were refused together, and that has to do.
    @Test func whatVerdictsBringIsCounted() async throws {
        try await TokenServer.run { (store, open) async throws in
            let team = try await open("team")
            let messages = Array(repeating: NewMessage(payload: [1]), count: 2)
            _ = try await team.enqueue(messages, to: mail, durability: .processCrash)
            let claim = try await team.claim(ClaimRequest(queue: mail, limit: 2, lease: .seconds(30)))
            let drafts = Array(repeating: Draft(NewMessage(payload: []), to: mail), count: Limits.batchCountMax)
            let verdicts = claim.messages.map { Settlement($0.lease, .done, drafts: drafts) }
            #expect(verdicts.count == 2)
            await expect(.invalidInput) { _ = try await team.settle(verdicts) }
            await expect(.invalidInput) { _ = try await team.perform([.settle(verdicts)]) }
            #expect(try await store.storage.status(of: mail).queues[0].depths.leased == 2)
            for verdict in verdicts { #expect(try await team.settle([verdict]) == [.settled(.done)]) }
            try await team.close()
        }
    }

    @Test func aCommandNamesNoMoreMessagesThanOneTransactionMoves() async throws {
        try await TokenServer.run { (_, open) async throws in
            let everything = try await open("everything")
            let numbers = (1...Int64(2 * Limits.batchCountMax + 1)).map { SequenceNumber($0) }
            await expect(.invalidInput) { _ = try await everything.apply(.cancel, to: .sequences(numbers)) }
            await expect(.invalidInput) { _ = try await everything.count(.sequences(numbers), for: .cancel) }
            try await everything.close()
        }
    }

    /// The largest claim ends behind the message with which it has enough, and headers count.
    @Test func aClientTakesTheLargestAnswerOfAServer() {
        let message = Limits.payloadBytesMax + Limits.headerBytesMax
        #expect(ClaimRequest.bytesMax(limit: 1) == message)
        for limit in [5, Limits.batchCountMax, .max] {
            #expect(ClaimRequest.bytesMax(limit: limit) >= Limits.batchBytesMax + message)
        }
        #expect(ClaimRequest.claimedBytesMax >= 4 * ClaimRequest.bytesMax(limit: Limits.batchCountMax))
        // What goes with each message beside payload and headers: the key of its group, and its place in a workflow.
        let besides = Limits.groupKeyBytesMax + Limits.workflowNameBytesMax + Limits.taskNameBytesMax + 100
        #expect(
            ServerConnection.answerBytesMax >= ClaimRequest.claimedBytesMax + 4 * Limits.batchCountMax * besides)
    }

    /// The bound is on all lists of a call together: lists within lists would multiply it.
    @Test func aFewBytesBecomeNoLotOfMemory() throws {
        let lists = Array(repeating: Array(repeating: false, count: 100_000), count: 2)
        var writer = WireWriter()
        writer(lists)
        var request = WireReader(writer.bytes, isFromStore: false)
        #expect(throws: PenstockError.self) { _ = try request() as [[Bool]] }
        var answer = WireReader(writer.bytes, isFromStore: true)
        #expect(try answer() as [[Bool]] == lists)
    }

    @Test func theHeadersOfACallHaveABoundTogether() throws {
        let headers = Dictionary(uniqueKeysWithValues: (0..<1000).map { ("h\($0)", "") })
        func readers(_ count: Int) -> WireReader {
            var writer = WireWriter()
            writer(Array(repeating: headers, count: count))
            return WireReader(writer.bytes, isFromStore: false)
        }
        var largest = readers(1280)
        #expect(try (largest() as [[String: String]]).count == 1280)
        var larger = readers(1281)
        #expect(throws: PenstockError.self) { _ = try larger() as [[String: String]] }
    }

    /// Messages whose headers are large are as many bytes as those whose payloads are.
    @Test func headersCountInAClaim() {
        func claim(_ count: Int) -> Claim {
            let headers = ["h": String(repeating: "x", count: Limits.headerBytesMax - 1)]
            let message = ClaimedMessage(
                lease: Lease(sequence: SequenceNumber(1), token: LeaseToken(rawValue: 1)), attempt: 1,
                enqueuedAt: Timestamp(microseconds: 0), priority: 0, headers: headers, payload: [], origin: nil)
            return Claim(messages: Array(repeating: message, count: count), nextDue: nil)
        }
        let count = Limits.batchBytesMax / Limits.headerBytesMax
        #expect(claim(count).isAll(of: Limits.batchCountMax))
        #expect(!claim(count + 1).isAll(of: Limits.batchCountMax))
    }
}
