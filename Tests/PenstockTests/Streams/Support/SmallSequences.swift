import PenstockTestKit
import Synchronization

/// Values that are there all at once: nothing suspends whoever pulls them.
struct AtOnce: AsyncSequence, Sendable {
    let values: [Int]

    init(_ values: some Sequence<Int>) {
        self.values = Array(values)
    }

    struct Iterator: AsyncIteratorProtocol {
        var left: ArraySlice<Int>

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Int? {
            left.popFirst()
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(left: values[...])
    }
}

/// One element, made when it is asked for, or a failure.
struct Single<Element: Sendable>: AsyncSequence, Sendable {
    typealias Failure = any Error

    let make: @Sendable () async throws -> Element

    init(_ make: @escaping @Sendable () async throws -> Element) {
        self.make = make
    }

    struct Iterator: AsyncIteratorProtocol {
        var make: (@Sendable () async throws -> Element)?

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws -> Element? {
            try await make.take()?()
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(make: make)
    }
}
