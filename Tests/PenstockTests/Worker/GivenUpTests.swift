import CoreMetrics
import Penstock
import PenstockCore
import PenstockTestKit
import Testing

/// No handler begins with a message that its worker has given back.
@Suite(.timeLimit(.minutes(5))) struct GivenUpTests {
    /// Metrics that call somebody as a worker counts a handler as running: the last thing that it does before it calls that.
    private final class CallingFactory: MetricsFactory {
        private final class CallingMeter: MeterHandler {
            let call: @Sendable () -> Void

            init(_ call: @escaping @Sendable () -> Void) {
                self.call = call
            }

            func set(_ value: Int64) {}
            func set(_ value: Double) {}
            func increment(by amount: Double) { call() }
            func decrement(by amount: Double) {}
        }

        private let nothing = NOOPMetricsHandler.instance
        private let meter: CallingMeter

        init(asAHandlerBegins call: @escaping @Sendable () -> Void) {
            meter = CallingMeter(call)
        }

        func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { nothing }

        func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { meter }

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

    /// Runs a worker, which `worker` knows before there is a message, until it is cancelled.
    ///
    /// - Returns: with how many of so many messages a handler has begun.
    private func begunCount(
        of count: Int, _ the: Fixture, _ worker: Latched<Task<Void, any Error>>
    ) async throws -> Int {
        let queue = try await the.queue()
        let begun = Tally()
        let running = Task {
            try await Worker(queue, options: .init(concurrency: count)) { _ in begun.add() }.run()
        }
        worker.set(running)
        let receipts = try await queue.enqueue(contentsOf: Array(1...count))
        await #expect(throws: CancellationError.self) { try await running.value }
        for receipt in receipts {
            let record = try await the.record(receipt)
            #expect(record.state == .ready)
            #expect(record.attempt == 0)
        }
        return begun.count
    }

    @Test func aClaimThatIsAnsweredAsTheWorkerIsCancelledBeginsNothing() async throws {
        let worker = Latched<Task<Void, any Error>>()
        let the = Fixture({ base in
            interrupted(
                base,
                afterClaim: { claim in
                    guard !claim.messages.isEmpty else { return }
                    worker.value?.cancel()
                })
        })
        #expect(try await begunCount(of: 3, the, worker) == 0)
    }

    /// The worker is cancelled on another thread meanwhile, which gives the message back before it cancels the handler's task.
    @Test func whatIsGivenBackJustBeforeItsHandlerIsCalledBeginsNothing() async throws {
        let worker = Latched<Task<Void, any Error>>()
        let factory = CallingFactory(asAHandlerBegins: { worker.value?.cancel() })
        #expect(try await begunCount(of: 1, Fixture(options: .init(metrics: factory)), worker) == 0)
    }
}
