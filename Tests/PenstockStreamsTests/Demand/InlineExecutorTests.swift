import PenstockStreams
import PenstockTestKit
import Testing

/// An executor may run a task as it is made, on the thread that makes it: operators hold no lock then.
@Suite(.timeLimit(.minutes(5))) struct InlineExecutorTests {
    /// Runs each job as it comes.
    private final class InlineExecutor: TaskExecutor {
        static let shared = InlineExecutor()

        func enqueue(_ job: consuming ExecutorJob) {
            UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    private func values<Failure: Error>(_ stream: some AsyncSequence<Int, Failure> & Sendable) async -> [Int] {
        await Task(executorPreference: InlineExecutor.shared) {
            var values: [Int] = []
            do {
                for try await value in stream { values.append(value) }
            } catch {
                Issue.record(error)
            }
            return values
        }.value
    }

    @Test func aBuffer() async {
        #expect(await values(AtOnce(1...3).buffer(size: 9, prefetch: .keepFull, whenFull: .dropOldest)) == [1, 2, 3])
    }

    @Test func aDelay() async {
        #expect(await values(AtOnce(1...3).delay(for: .zero, clock: ContinuousClock())) == [1, 2, 3])
    }

    @Test func aFlatMap() async {
        let stream = AtOnce(1...3).flatMap(maxConcurrent: 2) { AtOnce([$0, -$0]) }
        #expect(await Set(values(stream)) == [1, -1, 2, -2, 3, -3])
    }

    @Test func aSharedReplay() async {
        #expect(await values(AtOnce(1...3).shareReplay(3)) == [1, 2, 3])
    }

    /// A stream may be cancelled on another thread as its task is made.
    @Test func aTaskThatIsCancelledBeforeItBeginsIsCancelled() async {
        let task = UpstreamTask()
        task.cancel()
        await withCheckedContinuation { hasEnded in
            task.begin {
                while !Task.isCancelled { await giveWay() }
                hasEnded.resume()
            }
        }
    }
}
