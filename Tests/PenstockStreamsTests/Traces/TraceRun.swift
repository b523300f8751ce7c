import PenstockStreams
import PenstockTestKit

/// Runs a trace on a clock that only moves when the stream is still.
struct TraceRun: Sendable {
    let clock = ManualClock()
    let executor: IdleExecutor

    init(isSerial: Bool) {
        executor = IdleExecutor(isSerial: isSerial)
    }

    func callAsFunction(_ trace: Trace) async -> [Trace.Arrival] {
        switch trace.source {
        case .sequence(let values):
            return await read(AtOnce(values), trace) { await executor.run(clock) }
        case .subject(let sends):
            let subject = AsyncPassthroughSubject<Int, Never>()
            return await read(subject, trace) {
                for (milliseconds, values) in sends {
                    await executor.run(clock, to: .init(offset: .milliseconds(milliseconds)))
                    for value in values { subject.send(value) }
                }
                subject.finish()
                await executor.run(clock)
            }
        }
    }

    private func read(
        _ source: some AsyncSequence<Int, Never> & Sendable, _ trace: Trace, while passTime: () async -> Void
    ) async -> [Trace.Arrival] {
        guard let buffer = trace.buffer else { return await work(source, trace.flatMap, while: passTime) }
        let buffered = source.buffer(size: buffer.size, prefetch: buffer.prefetch, whenFull: buffer.whenFull.inMemory)
        return await work(buffered, trace.flatMap, while: passTime)
    }

    private func work(
        _ source: some AsyncSequence<Int, Never> & Sendable, _ flatMap: Trace.FlatMap, while passTime: () async -> Void
    ) async -> [Trace.Arrival] {
        let clock = clock
        let worked = source.flatMap(maxConcurrent: flatMap.max) { value in
            Single {
                try? await clock.sleep(for: .milliseconds(flatMap.work(value)))
                return value
            }
        }
        let consumer = Task(executorPreference: executor) {
            var arrivals: [Trace.Arrival] = []
            for await value in worked {
                arrivals.append(Trace.Arrival(value: value, milliseconds: clock.now.offset.wholeMilliseconds))
            }
            return arrivals
        }
        await passTime()
        return await consumer.value
    }
}

extension Trace.Overflow {
    /// The same as a policy of the operators in memory.
    fileprivate var inMemory: BufferOverflow<Never> {
        switch self {
        case .dropNewest: .dropNewest
        case .dropOldest: .dropOldest
        case .wait: preconditionFailure("No trace in memory lets its source wait.")
        }
    }
}
