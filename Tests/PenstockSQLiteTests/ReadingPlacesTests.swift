import Dispatch
import PenstockCore
import PenstockProcesses
import PenstockTestKit
import Synchronization
import Testing

/// The readings of a store that only reads, and of one in PostgreSQL: some of them at once, however many are asked for.
@Suite(.timeLimit(.minutes(5))) struct ReadingPlacesTests {
    /// Readings that are busy until the gate lets one through.
    private final class Reading: Sendable {
        let begun = Tally()
        let gate = DispatchSemaphore(value: 0)
        private let running = Mutex((now: 0, most: 0))

        var most: Int { running.withLock { $0.most } }

        func read() {
            running.withLock { $0 = (now: $0.now + 1, most: max($0.most, $0.now + 1)) }
            begun.add()
            gate.wait()
            running.withLock { $0.now -= 1 }
        }
    }

    /// A clock by which sleeps end when the test says so, cancelled ones too.
    private struct HeldTime: TimeSource {
        let clock = ManualTime()
        let begun = Tally()
        let mayEnd = Latch()

        var now: Timestamp { clock.now }
        var boot: BootTime { clock.boot }

        func sleep(until deadline: Timestamp) async throws {
            begun.add()
            await mayEnd.waitThoughCancelled()
        }

        func sleep(for duration: Duration) async throws { try await sleep(until: now + duration) }
    }

    private let places = ReadingPlaces(2)
    private let reading = Reading()

    private func begin(_ count: Int) -> [Task<Void, any Error>] {
        (0..<count).map { _ in Task { [places, reading] in try await places.run { reading.read() } } }
    }

    @Test func soManyRunAtOnceAndAllGetTheirTurn() async throws {
        let tasks = begin(50)
        try await reading.begun.wait(for: 2)
        try await eventually { places.waitingCount == 48 }
        #expect(reading.begun.count == 2)
        for _ in tasks { reading.gate.signal() }
        for task in tasks { try await task.value }
        #expect(reading.most == 2)
    }

    @Test func oneThatIsCancelledWaitsNoMoreAndKeepsNoPlace() async throws {
        let first = begin(2)
        try await reading.begun.wait(for: 2)
        let cancelled = begin(10)
        try await eventually { places.waitingCount == 10 }
        for task in cancelled { task.cancel() }
        for task in cancelled {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(places.waitingCount == 0)
        let later = begin(2)
        for _ in first + later { reading.gate.signal() }
        for task in first + later { try await task.value }
        #expect(reading.begun.count == 4)
    }

    @Test func oneThatHasNoPlaceInTimeWaitsNoMoreAndKeepsNone() async throws {
        let time = ManualTime()
        let places = ReadingPlaces(1, time: time)
        let read = { @Sendable [reading] in try await places.run(within: .seconds(1)) { reading.read() } }
        let first = Task { try await read() }
        try await reading.begun.wait(for: 1)
        let late = (0..<10).map { _ in Task { try await read() } }
        try await time.waitForSleepers(count: 10)
        time.advance(by: .seconds(1))
        for task in late {
            await #expect(throws: DeadlinePassed.self) { try await task.value }
        }
        #expect(places.waitingCount == 0)
        let next = Task { try await read() }
        for _ in 0..<2 { reading.gate.signal() }
        for task in [first, next] { try await task.value }
        #expect(reading.begun.count == 2)
        #expect(time.sleeperCount == 0)
    }

    /// The place comes when the reading is cancelled already, and before it can say that it waits no more. By chance the place may also come
    /// a moment too early for that, and so there are several rounds.
    @Test func oneThatGetsItsPlaceAsItIsCancelledGivesItOn() async throws {
        for _ in 0..<20 {
            let time = HeldTime()
            let places = ReadingPlaces(1, time: time)
            let reading = Reading()
            let first = Task { try await places.run { reading.read() } }
            try await reading.begun.wait(for: 1)
            let second = Task { try await places.run(within: .seconds(1)) { reading.read() } }
            try await time.begun.wait(for: 1)
            second.cancel()
            reading.gate.signal()
            try await first.value
            #expect(places.waitingCount == 0)
            time.mayEnd.open()
            // Its task is cancelled and its time is up, and on a busy machine either may be told first.
            let end = await #expect(throws: (any Error).self) { try await second.value }
            #expect(end is CancellationError || end is DeadlinePassed)
            // Without a free place its time would be up at once.
            try await places.run(within: .seconds(1)) {}
            #expect(reading.begun.count == 1)
        }
    }

    @Test func oneThatFailsGivesItsPlaceOn() async throws {
        struct Failed: Error {}
        for _ in 0..<5 {
            await #expect(throws: Failed.self) { try await places.run { throw Failed() } }
        }
        for _ in 0..<2 { reading.gate.signal() }
        for task in begin(2) { try await task.value }
        #expect(reading.begun.count == 2)
    }
}
