import CoreMetrics
import PenstockCore
import PenstockTestKit
import Synchronization
import Testing

@testable import Penstock

/// A factory of metrics is the program's own code, and may use the store.
@Suite(.timeLimit(.minutes(5))) struct MetricsFactoryTests {
    private final class AskingFactory: MetricsFactory {
        let question = Mutex<(@Sendable () -> Void)?>(nil)
        private let nothing = NOOPMetricsHandler.instance

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
            let ask = question.withLock { $0.take() }
            ask?()
            return nothing
        }

        func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { nothing }

        func makeRecorder(
            label: String, dimensions: [(String, String)], aggregate: Bool
        ) -> any RecorderHandler {
            nothing
        }

        func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { nothing }

        func destroyCounter(_ handler: any CounterHandler) {}
        func destroyMeter(_ handler: any MeterHandler) {}
        func destroyRecorder(_ handler: any RecorderHandler) {}
        func destroyTimer(_ handler: any TimerHandler) {}
    }

    @Test func itMayAskForMetricsAsItMakesThem() async throws {
        let factory = AskingFactory()
        let the = Fixture(options: .init(metrics: factory))
        let asked = Tally()
        factory.question.withLock { question in
            question = { [handle = the.store.handle] in
                _ = handle.metrics(of: QueueName(stored: "other"))
                asked.add()
            }
        }
        try await the.queue().enqueue(1)
        #expect(asked.count == 1)
        let handle = the.store.handle
        let queue = QueueName(stored: "q")
        #expect(handle.metrics(of: queue) === handle.metrics(of: queue), "They are made once.")
    }
}
