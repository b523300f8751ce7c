import PenstockCombine
import PenstockTestKit
import Testing

@testable import PenstockPublishers

extension World.Process {
    /// Subscribes, asks, and waits until nothing goes on by itself.
    func read<Source: Publisher>(
        _ source: Source, _ probe: Probe<Source.Output, Source.Failure>
    ) async {
        run { source.subscribe(probe) }
        await stillness.waitUntilIdle()
    }

    /// How many messages of the queue are in the state.
    func count(_ state: MessageState) async throws -> Int {
        try await store.list(MessageQuery(states: [state], limit: 1_000)).count
    }
}

extension World {
    /// Lets time pass, with all that happens meanwhile.
    func pass(_ milliseconds: Int, in process: Process) async {
        let end = scheduler.now.milliseconds + milliseconds
        await process.stillness.waitUntilIdle()
        while step(until: end) { await process.stillness.waitUntilIdle() }
        move(to: end)
        await process.stillness.waitUntilIdle()
    }
}
