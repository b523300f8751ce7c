import PenstockTestKit

/// The numbers of a range, with a chance for others to run before each.
struct Numbers: AsyncSequence, Sendable {
    let range: Range<Int>

    init(_ range: Range<Int>) {
        self.range = range
    }

    struct Iterator: AsyncIteratorProtocol {
        var left: Range<Int>

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Int? {
            await Task.yield()
            return left.popFirst()
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(left: range)
    }
}

/// One element, made when it is asked for.
struct Single<Element: Sendable>: AsyncSequence, Sendable {
    let make: @Sendable () async -> Element

    init(_ make: @escaping @Sendable () async -> Element) {
        self.make = make
    }

    struct Iterator: AsyncIteratorProtocol {
        var make: (@Sendable () async -> Element)?

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Element? {
            await make.take()?()
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(make: make)
    }
}

/// Another sequence, with its iterators counted.
struct Counted<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable {
    let base: Base
    let made: Tally
    let gone: Tally

    init(_ base: Base, made: Tally, gone: Tally) {
        self.base = base
        self.made = made
        self.gone = gone
    }

    struct Iterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator
        let witness: Witness

        mutating func next(
            isolation: isolated (any Actor)? = #isolation
        ) async throws(Base.Failure) -> Base.Element? {
            try await base.next(isolation: isolation)
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(base: base.makeAsyncIterator(), witness: Witness(made: made, gone: gone))
    }
}
