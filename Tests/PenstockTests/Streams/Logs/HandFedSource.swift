import Penstock
import PenstockTestKit
import Synchronization

/// A sequence whose elements a test gives by hand, and that counts who reads it. Each reading is a stream of its own.
final class HandFedSource: AsyncSequence, Sendable {
    typealias Element = Int

    struct Broken: Error, Equatable {}

    /// How often somebody began to read.
    let begun = Tally()
    /// How often a reading was cancelled or let go.
    let ended = Tally()
    private let continuation = Mutex<AsyncThrowingStream<Int, any Error>.Continuation?>(nil)

    func makeAsyncIterator() -> AsyncThrowingStream<Int, any Error>.Iterator {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
        continuation.onTermination = { [ended] reason in
            if case .cancelled = reason { ended.add() }
        }
        self.continuation.withLock { $0 = continuation }
        begun.add()
        return stream.makeAsyncIterator()
    }

    /// Gives to the last reading.
    func give(_ elements: some Sequence<Int>) {
        let continuation = continuation.withLock { $0 }
        for element in elements { continuation?.yield(element) }
    }

    func finish(_ failure: Broken? = nil) {
        continuation.withLock { $0 }?.finish(throwing: failure)
    }
}

/// Collects what a subscriber gets, so that a test can wait until it has so many.
final class Gathered: Sendable {
    let count = Tally()
    private let elements = Mutex<[Int]>([])

    var all: [Int] { elements.withLock { $0 } }

    func add(_ element: Int) {
        elements.withLock { $0.append(element) }
        count.add()
    }

    /// Takes everything from `sequence` until its end, in a task.
    func all(of sequence: some AsyncSequence<Int, any Error> & Sendable) -> Task<Void, any Error> {
        Task { for try await element in sequence { self.add(element) } }
    }
}
