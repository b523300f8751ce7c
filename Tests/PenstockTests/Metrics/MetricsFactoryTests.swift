import PenstockCore
import PenstockTestKit
import Testing

@testable import Penstock

/// A factory of metrics is the program's own code, and may use the store.
@Suite(.timeLimit(.minutes(5))) struct MetricsFactoryTests {
    @Test func itMayAskForMetricsAsItMakesThem() async throws {
        let (asker, asked) = (Latched<StoreHandle>(), Tally())
        let factory = CallingMetrics(counterIsMade: {
            // It asks for counters, and so comes back here.
            guard let handle = asker.value, asked.count == 0 else { return }
            asked.add()
            _ = handle.metrics(of: QueueName(stored: "other"))
        })
        let the = Fixture(options: .init(metrics: factory))
        let handle = the.store.handle
        asker.set(handle)
        try await the.queue().enqueue(1)
        #expect(asked.count == 1)
        let queue = QueueName(stored: "q")
        #expect(handle.metrics(of: queue) === handle.metrics(of: queue), "They are made once.")
    }
}
