/// Values that are there all at once: nothing suspends whoever pulls them.
package struct AtOnce: AsyncSequence, Sendable {
    package let values: [Int]

    package init(_ values: some Sequence<Int>) {
        self.values = Array(values)
    }

    package struct Iterator: AsyncIteratorProtocol {
        var left: ArraySlice<Int>

        package mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Int? {
            left.popFirst()
        }
    }

    package func makeAsyncIterator() -> Iterator {
        Iterator(left: values[...])
    }
}

/// One element, made when it is asked for, or a failure.
package struct Single<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    let make: @Sendable () async throws(Failure) -> Element

    package init(_ make: @escaping @Sendable () async throws(Failure) -> Element) {
        self.make = make
    }

    package struct Iterator: AsyncIteratorProtocol {
        var make: (@Sendable () async throws(Failure) -> Element)?

        package mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws(Failure) -> Element? {
            guard let make = make.take() else { return nil }
            return try await make()
        }
    }

    package func makeAsyncIterator() -> Iterator {
        Iterator(make: make)
    }
}

/// Another sequence, with its iterators counted.
package struct Counted<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable {
    let base: Base
    let made: Tally
    let gone: Tally

    package init(_ base: Base, made: Tally, gone: Tally) {
        self.base = base
        self.made = made
        self.gone = gone
    }

    package struct Iterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator
        let witness: Witness

        package mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws(Base.Failure) -> Base.Element? {
            try await base.next(isolation: isolation)
        }
    }

    package func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator(), witness: Witness(made: made, gone: gone))
    }
}

/// Says when it is made and gone.
package final class Witness: Sendable {
    private let gone: Tally

    package init(made: Tally, gone: Tally) {
        self.gone = gone
        made.add()
    }

    deinit {
        gone.add()
    }
}
