import Dispatch
import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

/// Streams go on where programs hold the threads that they would share otherwise.
@Suite(.timeLimit(.minutes(5))) struct StreamExecutorTests {
    /// Blocks that each hold a thread of Dispatch's default pool, until they are let go.
    private final class Crowd: Sendable {
        private let gate = DispatchSemaphore(value: 0)
        private let count = 200

        init() {
            for _ in 0..<count { DispatchQueue.global().async { [gate] in gate.wait() } }
        }

        func letGo() {
            for _ in 0..<count { gate.signal() }
        }
    }

    /// Returns whether `body`, on a thread of its own, came to its end in time.
    private func ends(_ body: @escaping @Sendable () -> Void) -> Bool {
        let hasEnded = DispatchSemaphore(value: 0)
        DispatchQueue(label: "test").async {
            body()
            hasEnded.signal()
        }
        return hasEnded.wait(timeout: .now() + 120) == .success
    }

    @Test func aPipelineNeedsNoThreadOfDispatch() async throws {
        let process = try await World(.memory).open()
        let queue = try await process.store.queue("q", of: Int.self)
        let received = Received()
        let crowd = Crowd()
        let hasEnded = ends {
            let finished = DispatchSemaphore(value: 0)
            let stream = Just(1).buffer(size: 1, prefetch: .byRequest, whenFull: .dropNewest, in: queue)
                .flatMap(maxPublishers: .max(1)) { Just($0) }
                .sink(receiveCompletion: { _ in finished.signal() }, receiveValue: { received.append($0) })
            finished.wait()
            withExtendedLifetime(stream) {}
        }
        crowd.letGo()
        #expect(hasEnded, "It waited for the threads of others.")
        #expect(received.values == [1])
        try await process.crash()
    }

    /// Many more than there may be threads, each of which waits for another job.
    @Test func jobsThatWaitForStreamsTakeNobodysPlace() async {
        let executor = StreamExecutor.current
        let mayGoOn = DispatchSemaphore(value: 0)
        let tasks = (0..<200).map { _ in
            Task(executorPreference: executor) { StreamExecutor.wait { mayGoOn.wait() } }
        }
        await Task(executorPreference: executor) {
            for _ in tasks { mayGoOn.signal() }
        }.value
        for task in tasks { await task.value }
    }
}
