import Penstock
import PenstockTestKit
import Synchronization

/// Reads a stream to its end on an executor of its own, while time passes whenever nothing can go on before.
struct Streaming: Sendable {
    let time: ManualTime
    let executor = IdleExecutor(isSerial: true)

    /// What came out, and why it ended if it was a failure.
    func callAsFunction<Value: Sendable>(
        _ stream: some AsyncSequence<Value, any Error> & Sendable
    ) async -> (values: [Value], failure: (any Error)?) {
        let consumer = Task(executorPreference: executor) { await Self.read(stream) }
        await executor.run(time)
        return await consumer.value
    }

    static func read<Value: Sendable>(
        _ stream: some AsyncSequence<Value, any Error> & Sendable
    ) async -> (values: [Value], failure: (any Error)?) {
        var values: [Value] = []
        do {
            for try await value in stream { values.append(value) }
            return (values, nil)
        } catch {
            return (values, error)
        }
    }

    /// Works on a value for so long, and gives it on.
    func work(_ duration: Duration) -> @Sendable (Int) -> Single<Int, any Error> {
        { [time] value in
            Single {
                try await time.sleep(until: time.now + duration)
                return value
            }
        }
    }
}

/// A number each so often, and then an end.
struct Ticks: AsyncSequence, Sendable {
    let range: ClosedRange<Int>
    let interval: Duration
    let time: ManualTime

    struct Iterator: AsyncIteratorProtocol {
        let ticks: Ticks
        var next: Int

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Int? {
            guard next <= ticks.range.upperBound else { return nil }
            try? await ticks.time.sleep(until: ticks.time.now + ticks.interval)
            defer { next += 1 }
            return Task.isCancelled ? nil : next
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(ticks: self, next: range.lowerBound)
    }
}

/// Numbers, and then a failure.
struct Failing: AsyncSequence, Sendable {
    struct Broken: Error, Equatable {}

    let values: [Int]

    struct Iterator: AsyncIteratorProtocol {
        var left: ArraySlice<Int>

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Broken) -> Int? {
            guard let value = left.popFirst() else { throw Broken() }
            return value
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(left: values[...])
    }
}

extension PenstockStore {
    /// The values of queue "q" in these states, in the order of the log.
    func values(_ states: Set<MessageState>? = nil) async throws -> [Int] {
        try await list(MessageQuery(queue: QueueName("q"), states: states, limit: 10_000, withPayload: true))
            .compactMap { $0.payload.flatMap { Int(String(decoding: $0, as: UTF8.self)) } }
    }
}
