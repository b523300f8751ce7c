import PenstockTestKit
import Testing

@testable import Penstock

/// Tasks that go on though the one that began them is cancelled.
@Suite struct OwnTaskTests {
    @Test func itRunsWhereTheOneThatBeganItRuns() async {
        let executor = IdleExecutor(isSerial: true)
        let runsThere = Task(executorPreference: executor) {
            await ownTask { () async throws -> Bool in
                withUnsafeCurrentTask { $0?.unownedTaskExecutor == executor.asUnownedTaskExecutor() }
            }.result
        }
        #expect(await (try? runsThere.value.get()) == true)
        let isCancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await ownTask { () async throws -> Bool in Task.isCancelled }.result
        }
        #expect(await (try? isCancelled.value.get()) == false)
    }
}
