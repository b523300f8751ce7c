internal import Foundation

/// Passes elements through one operator and prints how long that took, as a line of JSON.
///
///     streams-bench list 0             the operators
///     streams-bench NAME COUNT         COUNT elements through one of them
@main
struct Main {
    static func main() async {
        let words = CommandLine.arguments
        guard words.count == 3, let count = Int(words[2]) else {
            print("usage: streams-bench list|NAME COUNT")
            exit(64)
        }
        let all =
            PenstockSide.operators + AsyncAlgorithmsSide.operators + PenstockCombineSide.operators
            + OpenCombineSide.operators
        if words[1] == "list" {
            let rows = all.map { "{\"name\": \"\($0.name)\", \"title\": \"\($0.title)\", \"quick\": \($0.isQuick)}" }
            print("{\"rows\": [\(rows.joined(separator: ", "))]}")
            return
        }
        guard let measured = all.first(where: { $0.name == words[1] }) else {
            print("There is no operator \(words[1]).")
            exit(64)
        }
        let clock = ContinuousClock()
        var passed = 0
        let time = await clock.measure { passed = await measured.pass(count) }
        print("{\"messages\": \(passed), \"seconds\": \(time / .seconds(1))}")
    }
}

/// One operator of one package.
struct Measurable: Sendable {
    var name: String
    var title: String
    var isQuick = false
    /// Passes so many elements through it, and tells how many that were in all.
    var pass: @Sendable (Int) async -> Int
}

/// Numbers as fast as they are asked for.
struct Numbers: AsyncSequence, Sendable {
    let count: Int

    struct Iterator: AsyncIteratorProtocol {
        var next = 0
        let count: Int

        mutating func next(isolation: isolated (any Actor)?) async -> Int? {
            if next == count { return nil }
            defer { next += 1 }
            return next
        }

        mutating func next() async -> Int? { await next(isolation: nil) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(count: count) }
}

extension AsyncSequence where Failure == Never {
    /// Takes every element, and tells how many there were.
    func drained() async -> Int {
        var count = 0
        for await _ in self { count += 1 }
        return count
    }
}
