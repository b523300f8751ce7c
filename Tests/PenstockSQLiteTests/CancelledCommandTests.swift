import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import PenstockSQL
@testable import PenstockSQLite

/// Commands for a whole queue whose task is cancelled, or whose store fails, when some of the messages were moved.
@Suite(.timeLimit(.minutes(5))) struct CancelledCommandTests {
    private let harness = SQLiteHarness()

    /// A queue with a task that many others wait for, and more ready messages than one step moves.
    private func open(afterStep: @escaping @Sendable () async throws -> Void) async throws -> SQLiteStore {
        let store = try await harness.openStore(afterStep: afterStep)
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        try await store.begin(fan(2500))
        _ = try await store.enqueue((1...1500).map { .text("\($0)") }, to: .jobs, durability: .processCrash)
        return store
    }

    private func cancelAll(_ store: SQLiteStore) async throws -> Int {
        try await store.apply(.cancel, to: .queue(.jobs, states: [.ready]))
    }

    @Test func oneThatHasMovedSomeIsCarriedOut() async throws {
        let steps = Tally()
        let left = Mutex<[String]>([])
        let store = try await open { [path = harness.path] in
            guard steps.add() == 1 else { return }
            let rows = try await ForeignProgram(path).rows("SELECT count(*) FROM penstock_ready")
            left.withLock { $0 = rows }
            withUnsafeCurrentTask { $0?.cancel() }
        }
        let task = Task {
            let moved = try await cancelAll(store)
            #expect(Task.isCancelled)
            return moved
        }
        #expect(try await task.value == 1501)
        #expect(left.withLock { $0 } == ["501"], "It was cancelled between two steps.")
        #expect(try await store.depths().ready == 0)
        #expect(try await store.counts() == [.cancelled: 2501], "Also what waited for one of them.")
        try await store.close()
    }

    @Test func oneThatHasMovedNothingEndsAndChangesNothing() async throws {
        let store = try await open {}
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await cancelAll(store)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try await store.depths().ready == 1501)
        try await store.close()
    }

    @Test func anErrorBetweenTwoStepsSaysHowManyWereMoved() async throws {
        let steps = Tally()
        let store = try await open {
            if steps.add() == 1 { throw PenstockError(.storage, "The disk has failed, and nothing was done.") }
        }
        let error = await expect(.storage) { try await cancelAll(store) }
        #expect(
            error?.message == "The disk has failed, and nothing more was done. 1000 messages were moved before.")
        #expect(try await store.depths().ready == 501)
        #expect(
            try await store.counts() == [.cancelled: 2501], "What follows from the first step is done all the same.")
        try await store.close()
    }

    /// As when a server goes away once the policy is set.
    @Test func aPolicyThatIsSetIsNotToldAsNothingDone() async throws {
        let isGone = Latch()
        let store = try await harness.openStore(afterStep: {
            if isGone.isOpen { throw PenstockError(.unreachable, "The server is gone; nothing was done.") }
        })
        try await store.configure(.jobs, .create(QueuePolicy(), ifAbsent: false))
        isGone.open()
        let policy = QueuePolicy(groups: .fifo())
        let error = await expect(.unreachable) { try await store.configure(.jobs, .set(policy)) }
        #expect(
            error?.message
                == "The server is gone; nothing more was done. The change is made, and workers do the rest.")
        #expect(try await store.status(of: .jobs).queues.first?.policy == policy)
        try await store.close()
    }
}
