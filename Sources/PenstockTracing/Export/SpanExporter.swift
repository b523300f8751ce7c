import Logging
import PenstockCore
import PenstockFormats
import PenstockProcesses
import Synchronization

/// Hands spans over, batch by batch, while there are any. While there are none it costs nothing: no thread, no timer.
final class SpanExporter: Sendable {
    /// How long spans wait for more of them. OpenTelemetry has 5 s, which is long for somebody who looks at a trace.
    private static let pause = Duration.seconds(1)
    /// How often a batch is offered to a collector that is away or busy, and the longest pause between.
    private static let triesMax = 5
    private static let retryPauseMax = Duration.seconds(16)
    /// How long the end of a program may take for its spans, however many there are and whatever the collector does.
    private static let endMax = Duration.seconds(2)

    private struct State {
        var queue = SpanQueue()
        /// What hands them over, while there are any.
        var task: Task<Void, Never>?
        /// What it waits for before it takes the next ones, or offers the same ones again.
        var pause: Task<Void, Never>?
        /// Whether it waits for a collector that is away or busy: then only the end is a reason to hurry.
        var isRetrying = false
        /// How many spans are being handed over.
        var offeredCount = 0
        /// Whether what is still there was given up: the program ends.
        var isGivenUp = false

        mutating func takeBatch() -> [SpanRecord] {
            let batch = queue.takeBatch()
            offeredCount = batch.count
            return batch
        }

        /// Gives up what is still there, and says how many spans that are.
        mutating func giveUp() -> Int {
            isGivenUp = true
            defer { offeredCount = 0 }
            return offeredCount + queue.takeAll()
        }

        /// Has it go on at once, if there is reason to.
        func hurry() { if isRetrying ? queue.isStopped : queue.isUrgent { pause?.cancel() } }
    }

    private let configuration: TracingConfiguration
    private let format: SpanJSON
    private let time: any TimeSource
    private let state = Mutex(State())

    init(_ configuration: TracingConfiguration, time: any TimeSource) {
        self.configuration = configuration
        self.time = time
        format = SpanJSON(resource: configuration.resource)
    }

    func add(_ span: SpanRecord) {
        state.withLock { state in
            state.queue.add(span)
            state.hurry()
            if state.task == nil, !state.queue.isStopped { state.task = Task.detached { await self.handOver() } }
        }
    }

    func flush() {
        state.withLock { state in
            state.queue.hurry()
            state.hurry()
        }
    }

    /// Takes no more spans, and waits until those that are there are handed over, or the collector does not take them, for two seconds
    /// at most.
    func stop() async {
        let task = state.withLock { state in
            state.queue.stop()
            state.hurry()
            return state.task
        }
        guard let task else { return }
        let end = Waiter<Void>()
        Task.detached {
            await task.value
            end.resume()
        }
        let timer = Task.detached { [time, endMax = min(Self.endMax, configuration.timeout)] in
            // Only cancellation ends a sleep before its time.
            if (try? await time.sleep(for: endMax)) != nil { end.resume() }
        }
        // Its only answer is that one of both is over.
        try? await end.waitThoughCancelled()
        timer.cancel()
        say(state.withLock { $0.giveUp() }, "it did not take them before the program's end")
    }

    private func handOver() async {
        while true {
            await wait(Self.pause, isRetrying: false)
            await offer(state.withLock { $0.takeBatch() })
            let isDone = state.withLock { state in
                if state.queue.spans.isEmpty { state.task = nil }
                return state.queue.spans.isEmpty
            }
            if isDone { return }
        }
    }

    /// Waits, unless there is reason to hurry.
    private func wait(_ duration: Duration, isRetrying: Bool) async {
        let pause = Task.detached { [time] in _ = try? await time.sleep(for: duration) }
        state.withLock { state in
            state.pause = pause
            state.isRetrying = isRetrying
            state.hurry()
        }
        await pause.value
        state.withLock { $0.pause = nil }
    }

    private func offer(_ batch: [SpanRecord]) async {
        let body = format.body(of: batch)
        var pause = Duration.seconds(1)
        for number in 1...Self.triesMax {
            switch await post(body) {
            // A collector may say anything of what it was given.
            case .taken(let rejected, let reason): return lose(min(rejected, batch.count), reason)
            case .refused(let reason): return lose(batch.count, reason)
            case .mayPass(let reason):
                let isStopped = state.withLock { $0.queue.isStopped }
                // A collector that does not take these takes nothing of the rest, and the end of a program waits for one try alone.
                if isStopped { return lose(batch.count + state.withLock { $0.queue.takeAll() }, reason) }
                if number == Self.triesMax { return lose(batch.count, reason) }
                await wait(pause, isRetrying: true)
                pause = min(pause * 2, Self.retryPauseMax)
            }
        }
    }

    private func post(_ body: [UInt8]) async -> CollectorAnswer {
        let (collector, timeout) = (configuration.collector, configuration.timeout)
        do {
            return try await SystemThread.run { collector.post(body, timeout: timeout) }
        } catch {
            return .mayPass("no thread can be made")
        }
    }

    /// A batch has come to its end, and so many spans with it. Says so, and of those that found no room since the last time.
    private func lose(_ count: Int, _ reason: String) {
        let lost = state.withLock { state in
            state.offeredCount = 0
            // They were counted as they were given up.
            return state.isGivenUp ? 0 : count + state.queue.takeLost()
        }
        say(lost, reason)
    }

    private func say(_ lost: Int, _ reason: String) {
        if lost == 0 { return }
        configuration.logger?.warning(
            "\(CountText.format(lost, "span")) \(lost == 1 ? "is" : "are") lost, as the collector at \(configuration.collector) is no help: \(reason)"
        )
    }
}
