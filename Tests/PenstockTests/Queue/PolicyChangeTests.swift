import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// Changing a part of a queue's policy.
@Suite(.timeLimit(.minutes(5))) struct PolicyChangeTests {
    let the = Fixture()

    @Test func thoseWhoChangeItTogetherUndoNothingOfEachOther() async throws {
        var policy = QueuePolicy()
        policy.limit = 1
        let queue = try await the.queue(policy: policy)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...50 {
                group.addTask { try await queue.changePolicy { $0.limit = ($0.limit ?? 0) + 1 } }
            }
            try await group.waitForAll()
        }
        #expect(try await queue.status().policy.limit == 51)
    }

    @Test func aPolicyThatCannotBeIsRefused() async throws {
        let queue = try await the.queue()
        let error = await #expect(throws: PenstockError.self) { try await queue.changePolicy { $0.limit = 0 } }
        #expect(error?.code == .invalidInput)
        #expect(try await queue.status().policy.limit == nil)
    }
}
