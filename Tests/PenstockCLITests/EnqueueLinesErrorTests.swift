import Penstock
import PenstockCore
import PenstockTestKit
import Testing

@testable import PenstockCLI

/// What is said when some lines are in line, some are not, and of some nobody knows.
@Suite(.timeLimit(.minutes(5))) @MainActor struct EnqueueLinesErrorTests {
    /// Enqueues five lines after `prepare`, and gives what is said.
    private func failure(
        policy: QueuePolicy = QueuePolicy(), timeout: Duration? = nil, _ prepare: (FaultyStore) -> Void = { _ in }
    ) async throws -> Failure? {
        let faulty = FaultyStore(InMemoryStore())
        let store = PenstockStore(faulty)
        let queue = try await store.queue("q", policy: policy)
        prepare(faulty)
        let tool = try Tool.empty()
        let input = try InputFile.open(try tool.file("lines", "1\n2\n3\n4\n5\n".utf8))
        // The folder goes with the last use of the tool.
        defer { withExtendedLifetime(tool) { input.close() } }
        let batches = LineBatches(
            queue: queue, template: NewMessage(payload: []), durability: .powerLoss, timeout: timeout)
        do {
            _ = try await EnqueueLines(input: input, skipsEmpty: false, place: .file, batches: batches).run()
            return nil
        } catch let failure as Failure {
            return failure
        }
    }

    @Test func ofLinesThatMayBeInLineNothingIsPromised() async throws {
        let failure = try await failure { store in
            store.fail(.enqueue, .after, with: PenstockError(.outcomeUnknown, "No answer came."))
        }
        #expect(failure?.status.rawValue == 76)
        #expect(
            failure?.message
                == "At line 1: No answer came. Nobody knows whether lines 1 to 5 are enqueued; no later line is. "
                + "No line before it was enqueued.")
    }

    @Test func linesThatWentInBeforeTheErrorAreCounted() async throws {
        let policy = QueuePolicy(capacity: Capacity(2, whenFull: .wait))
        let failure = try await failure(policy: policy, timeout: .zero)
        #expect(failure?.status.rawValue == 75)
        #expect(failure?.message.hasPrefix("At line 3: ") == true)
        #expect(
            failure?.message.hasSuffix(
                "Neither it nor a later line is enqueued. The 2 lines before it are enqueued and stay.") == true)
    }

    /// A queue that is worked slowly has room again and again, and many lines take longer together than one may wait.
    @Test nonisolated func theTimeoutIsForTheNextRoomAndNotForAllLines() async throws {
        let time = ManualTime()
        let memory = InMemoryStore(time: time)
        let store = PenstockStore(memory, options: .init(time: time))
        let queue = try await store.queue("q", policy: QueuePolicy(capacity: Capacity(1, whenFull: .wait)))
        let batches = LineBatches(
            queue: queue, template: NewMessage(payload: []), durability: .powerLoss, timeout: .seconds(10))
        let lines = (1...3).map { Line(number: $0, bytes: Array("\($0)".utf8)) }
        let enqueueing = Task { try await batches.enqueue(lines, after: EnqueueTally()) }
        for number in 1...2 {
            let sequence = SequenceNumber(Int64(number))
            try await eventually {
                try await memory.messages(MessageQuery(states: [.ready])).first?.sequence == sequence
            }
            try await time.waitForSleepers(count: 1)
            time.advance(by: .seconds(number == 1 ? 6 : 5))
            try await time.waitForSleepers(count: 1)
            #expect(try await memory.apply(.cancel, to: .sequences([sequence])) == 1)
        }
        #expect(try await enqueueing.value.lines == 3)
    }
}
