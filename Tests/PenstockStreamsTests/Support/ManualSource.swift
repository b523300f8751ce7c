import DequeModule
import PenstockTestKit
import Synchronization

/// A sequence whose elements a test sends, and which tells how often it was asked for one.
final class ManualSource<Element: Sendable>: AsyncSequence, Sendable {
    private typealias Asker = CheckedContinuation<Result<Element?, Broken>, Never>

    private struct State {
        var sent: Deque<Result<Element?, Broken>> = []
        var asker: Asker?
    }

    /// How often an element was asked for.
    let asks = Tally()
    /// How often somebody who asked was cancelled.
    let cancellations = Tally()
    /// How many iterators were made, and are gone.
    let iteratorsMade = Tally()
    let iteratorsGone = Tally()
    private let state = Mutex(State())

    func send(_ element: Element) { deliver(.success(element)) }
    func finish() { deliver(.success(nil)) }
    func fail(_ name: String = "broken") { deliver(.failure(Broken(name: name))) }

    private func deliver(_ result: Result<Element?, Broken>) {
        let asker = state.withLock { state in
            guard let asker = state.asker.take() else {
                state.sent.append(result)
                return nil as Asker?
            }
            return asker
        }
        asker?.resume(returning: result)
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(source: self)
    }

    final class Iterator: AsyncIteratorProtocol {
        let source: ManualSource

        init(source: ManualSource) {
            self.source = source
            source.iteratorsMade.add()
        }

        deinit {
            source.iteratorsGone.add()
        }

        func next(isolation: isolated (any Actor)? = #isolation) async throws(Broken) -> Element? {
            try await source.next()
        }
    }

    private func next() async throws(Broken) -> Element? {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (asker: Asker) in
                let result: Result<Element?, Broken>? = state.withLock { state in
                    if Task.isCancelled { return .success(nil) }
                    if let result = state.sent.popFirst() { return result }
                    precondition(state.asker == nil, "Two ask at once.")
                    state.asker = asker
                    return nil
                }
                asks.add()
                if let result { asker.resume(returning: result) }
            }
        } onCancel: {
            cancellations.add()
            state.withLock { $0.asker.take() }?.resume(returning: .success(nil))
        }
        return try result.get()
    }
}
