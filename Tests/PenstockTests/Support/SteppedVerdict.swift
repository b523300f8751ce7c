import PenstockTestKit

@testable import Penstock

/// The verdict on the delivery of 1, which is under way while others are handed out.
struct SteppedVerdict: Sendable {
    private let executor = SteppedExecutor()
    private let settled = Tally()

    /// Begins it when it is the turn of 1, and has it look twice whether the reader goes on.
    func step(beside deliveries: some Sequence<Delivery<Int>>) {
        for delivery in deliveries where delivery.payload == 1 {
            _ = Task(executorPreference: executor) { [settled] in
                try await delivery.done()
                settled.add()
            }
        }
        for _ in 1...2 { executor.runNext() }
    }

    /// Runs it to its end.
    func finish() async throws {
        try await eventually {
            while executor.runNext() {}
            return settled.count == 1
        }
    }
}
