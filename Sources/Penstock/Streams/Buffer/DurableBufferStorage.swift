internal import PenstockCore
public import PenstockStreams

/// One iteration of a durable buffer: the engine, the task that runs it, and the task that reads upstream.
///
/// They begin with the first `next()`, and the end is told to the consumer only when both have ended.
@usableFromInline
final class DurableBufferStorage<Base: AsyncSequence & Sendable>: StreamStorage where Base.Element: Sendable {
    @usableFromInline typealias Element = Delivery<Base.Element>

    @usableFromInline let flow: DurableBufferSequence<Base>
    @usableFromInline let outlet = DeliveryOutlet<Base.Element>()
    @usableFromInline let demand = UpstreamDemand()
    @usableFromInline let puller = UpstreamTask()
    @usableFromInline let engine: BufferEngine<Base.Element>

    @inlinable init(_ flow: DurableBufferSequence<Base>) {
        self.flow = flow
        engine = BufferEngine(
            queue: flow.queue, options: flow.options,
            outlets: .init(
                ask: { [demand] in demand.ask($0) },
                give: { [outlet] in outlet.give($0) },
                cancelUpstream: { [puller] in puller.cancel() }))
    }

    @inlinable func request(_ count: Int) {
        outlet.request(count)
        engine.request(count)
    }

    @inlinable func take() -> Element? { outlet.take() }

    @inlinable func next(_ consumer: StreamConsumer<Element, any Error>) {
        let (mustStart, count) = outlet.next(consumer)
        if count > 0 { engine.request(count) }
        if mustStart { start() }
    }

    @inlinable func letGo() {
        let (left, isRunning) = outlet.letGo()
        if isRunning { engine.cancel(handingBack: left) } else { engine.beginGiveBack(left) }
    }

    /// What it was given in advance goes back in line before this returns, also after the end.
    @inlinable func close() async {
        let (left, isRunning) = outlet.letGo()
        if isRunning { engine.cancel(handingBack: left) } else { await engine.giveBack(left) }
        _ = await withCheckedContinuation { next($0) }
    }

    @inlinable func start() {
        puller.begin { await self.readUpstream() }
        _ = Task(executorPreference: preferredExecutor()) {
            let failure = await self.engine.run()
            await self.puller.end()
            self.demand.end()
            self.outlet.end(failure)
        }
    }

    @inlinable func readUpstream() async {
        var upstream = flow.base.makeAsyncIterator()
        demand.begin(with: upstream)
        do {
            while await isWanted() {
                guard let element = try await upstream.next(isolation: nil) else { return engine.upstreamFinished() }
                engine.arrived(element)
            }
            await upstream.closeIfNeeded()
        } catch {
            engine.upstreamFailed(error)
        }
    }

    /// Suspends while the buffer is paused. Returns whether to go on.
    @inlinable func isWanted() async -> Bool {
        if engine.isWanted { return true }
        return await withCheckedContinuation { continuation in
            engine.whenWanted { continuation.resume(returning: $0) }
        }
    }
}
