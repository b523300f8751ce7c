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
