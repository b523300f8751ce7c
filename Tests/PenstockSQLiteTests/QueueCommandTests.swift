import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// What becomes of a message that is found for a command on a whole queue, and has changed before its step.
@Suite(.timeLimit(.minutes(5))) struct QueueCommandTests {
    private let harness = SQLiteHarness()
    private let waiting: Set<MessageState> = [.pending, .scheduled, .blocked, .ready]

    private func step(
        _ command: LineCommand, in states: Set<MessageState>, _ sequences: [SequenceNumber], _ store: SQLiteStore
    ) async throws -> Int {
        try await store.core.writer.perform { transaction in
            try Commanding.step(
                command, on: .jobs, in: states, sequences.map(\.rawValue), limit: .max, transaction
            ).moved
        }
    }

    /// Only with `--running` is a worker asked to end.
    @Test func whatAWorkerHasTakenMeanwhileGoesOn() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        let found = [try await store.put(.text("a")).sequence, try await store.put(.text("b")).sequence]
        let taken = try #require(try await store.take().first)
        for command in [LineCommand.requestCancel(), .cancel] {
            #expect(try await step(command, in: waiting, [taken.lease.sequence], store) == 0)
        }
        #expect(try await step(.requestCancel(), in: waiting, found, store) == 1)
        let lease = LeaseExtension(taken.lease)
        #expect(try await store.extend([lease]) == [.held])
        #expect(try await step(.requestCancel(), in: waiting.union([.leased]), found, store) == 1)
        #expect(try await store.extend([lease]) != [.held])
        try await store.close()
    }

    @Test func whatHasEndedMeanwhileStaysAsItIs() async throws {
        let store = try await harness.openStore()
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        let sequence = try await store.put(.text("a")).sequence
        let taken = try #require(try await store.take().first)
        _ = try await store.settle([Settlement(taken.lease, .dead(error: "e"))])
        #expect(try await step(.requestCancel(), in: waiting, [sequence], store) == 0)
        #expect(try await step(.redrive, in: [.scheduled], [sequence], store) == 0)
        #expect(try await store.depths().dead == 1)
        try await store.close()
    }
}
