internal import PenstockCore
internal import PenstockStreams
internal import Synchronization

/// One iteration of a durable buffer: the engine, the task that runs it, and the task that reads upstream.
///
/// They begin with the first `next()`, and the end is told to the consumer only when both have ended.
final class DurableBufferStorage<Base: AsyncSequence & Sendable>: Sendable where Base.Element: Sendable {
    private let flow: DurableBufferSequence<Base>
    private let outlet = DeliveryOutlet<Base.Element>()
    private let demand = UpstreamDemand()
    private let puller = PullingTask()
    private let engine: BufferEngine<Base.Element>

    init(_ flow: DurableBufferSequence<Base>) {
        self.flow = flow
        engine = BufferEngine(
            queue: flow.queue, options: flow.options,
            outlets: .init(
                ask: { [demand] in demand.ask($0) },
                give: { [outlet] in outlet.give($0) },
                cancelUpstream: { [puller] in puller.cancel() }))
    }

    func request(_ count: Int) {
        engine.request(outlet.request(count))
    }

    func next(isolation: isolated (any Actor)?) async throws -> Delivery<Base.Element>? {
        try await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { consumer in
                let (mustStart, count) = outlet.next(consumer)
                if count > 0 { engine.request(count) }
                if mustStart { start() }
            }
        } onCancel: {
            letGo()
        }.get()
    }

    func letGo() {
        let (left, isRunning) = outlet.letGo()
        if isRunning { engine.cancel(handingBack: left) } else { engine.giveBack(left) }
    }

    private func start() {
        let executor = consumersExecutor()
        puller.task = Task(executorPreference: executor) { await self.readUpstream() }
        _ = Task(executorPreference: executor) {
            let failure = await self.engine.run()
            await self.puller.end()
            self.demand.end()
            self.outlet.end(failure)
        }
    }

    private func readUpstream() async {
        var upstream = flow.base.makeAsyncIterator()
        demand.begin(with: upstream)
        do {
            while await isWanted() {
                guard let element = try await upstream.next(isolation: nil) else { return engine.upstreamFinished() }
                engine.arrived(element)
            }
        } catch {
            engine.upstreamFailed(error)
        }
    }

    /// Suspends while the buffer is paused. Returns whether to go on.
    private func isWanted() async -> Bool {
        await withCheckedContinuation { continuation in
            engine.whenWanted { continuation.resume(returning: $0) }
        }
    }
}

/// The task that reads upstream.
private final class PullingTask: Sendable {
    private let inside = Mutex<Task<Void, Never>?>(nil)

    var task: Task<Void, Never>? {
        get { inside.withLock { $0 } }
        set { inside.withLock { $0 = newValue } }
    }

    func cancel() {
        task?.cancel()
    }

    func end() async {
        cancel()
        await task?.value
    }
}
