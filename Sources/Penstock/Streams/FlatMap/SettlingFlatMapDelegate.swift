internal import PenstockStreams

/// Takes care of the deliveries whose payloads become inner sequences: their leases are extended while these run, and they
/// are settled at their ends.
final class SettlingFlatMapDelegate<Element: Settleable>: Sendable {
    private let settler = LeaseSettler<Element.Payload>()
    /// What extends the leases of each reader whose deliveries are worked on.
    private let keepers: AsyncStream<@Sendable () async -> Void>
    private let keeperCame: AsyncStream<@Sendable () async -> Void>.Continuation

    init() {
        (keepers, keeperCame) = AsyncStream.makeStream()
    }

    /// Extends leases until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await keepLeases in keepers {
                group.addTask { await keepLeases() }
            }
            group.cancelAll()
        }
    }

    func read(_ inner: FlatMapInner, of element: Element) async throws {
        let delivery = element.delivery
        let (run, keepLeases, hasLease) = settler.begin(delivery)
        guard hasLease else {
            _ = await settler.settle(delivery, .leaseLost, inLine: inner.makeRoom)
            return
        }
        if let keepLeases { keeperCame.yield(keepLeases) }
        let outcome = await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    // Its message is given back already when the stream was cancelled as it came.
                    if run.isOver { return }
                    let end = await inner.read()
                    run.left(HandlerEnd(end, isCancelled: Task.isCancelled))
                }
                var end = await settler.ended(delivery, run)
                // No message is to blame for the stream's own end.
                if case .failed(let error) = end, error is CancellationError, Task.isCancelled { end = .givenUp }
                group.cancelAll()
                switch end {
                case .finished, .failed, .undecodable:
                    return await settler.settle(delivery, end, of: run, inLine: inner.makeRoom)
                case .givenUp, .cancelled, .leaseLost, .timedOut:
                    // Settled before the inner sequence has ended, should it be slow to: others can have its message at once.
                    let outcome = await settler.settle(delivery, end, of: run)
                    if !Task.isCancelled {
                        await group.waitForAll()
                        inner.makeRoom()
                    }
                    return outcome
                }
            }
        } onCancel: {
            run.end(.givenUp)
        }
        if case .unsettled(let error) = outcome { throw error }
    }

    func discard(_ element: Element) async {
        // It is no failure of the stream when this does not succeed, so nothing is thrown.
        _ = await settler.settle(element.delivery, .givenUp)
    }
}

extension HandlerEnd {
    /// - Parameter isCancelled: whether the task that has read it was. Many sequences end in silence then: that is no success.
    fileprivate init(_ end: FlatMapInner.End, isCancelled: Bool) {
        switch end {
        case .unwanted: self = .givenUp
        case .finished: self = isCancelled ? .failed(CancellationError()) : .finished
        case .failed(let error): self = .failed(isCancelled ? CancellationError() : error)
        }
    }
}
