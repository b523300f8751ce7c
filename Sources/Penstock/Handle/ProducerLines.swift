internal import PenstockCore
internal import Synchronization

/// The producers of this process that wait for room, one line for each queue. Only the first of a line offers what it
/// has, so they get in by turns; the lines know nothing of each other.
final class ProducerLines: Sendable {
    /// A producer's place in a line.
    struct Place: Sendable {
        fileprivate let queue: QueueName
        fileprivate let id: Int
    }

    private struct Producer {
        var id: Int
        /// Set while it waits to be the first.
        var waiter: Waiter<Void>?
    }

    private struct State {
        var lines: [QueueName: [Producer]] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())

    func count(for queue: QueueName) -> Int {
        state.withLock { $0.lines[queue]?.count ?? 0 }
    }

    /// Takes the last place of the line. Whoever took one must leave it.
    func join(_ queue: QueueName) -> Place {
        state.withLock { state in
            state.nextID += 1
            state.lines[queue, default: []].append(Producer(id: state.nextID))
            return Place(queue: queue, id: state.nextID)
        }
    }

    /// Leaves the line, from whatever place. The producer that is first then goes on.
    func leave(_ place: Place) {
        let first = state.withLock { state -> Waiter<Void>? in
            state.lines[place.queue]?.removeAll { $0.id == place.id }
            guard state.lines[place.queue]?.isEmpty == false else {
                state.lines[place.queue] = nil
                return nil
            }
            return state.lines[place.queue]?[0].waiter
        }
        first?.resume()
    }

    /// Returns once the place is the first of its line.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first. The place is still taken then.
    func reachHead(_ place: Place) async throws {
        let waiter: Waiter<Void>? = state.withLock { state in
            guard let index = state.lines[place.queue]?.firstIndex(where: { $0.id == place.id }), index > 0 else {
                return nil
            }
            let waiter = Waiter<Void>()
            state.lines[place.queue]?[index].waiter = waiter
            return waiter
        }
        try await waiter?.wait()
        try Task.checkCancellation()
    }
}
