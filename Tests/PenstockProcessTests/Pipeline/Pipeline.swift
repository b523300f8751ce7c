import Penstock
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Numbers through a durable buffer and a settling flatMap, which writes each to standard output as a line. Started again
/// after a kill, the source goes on after the highest number that the queue's log holds.
///
/// Arguments: the file, the overflow policy, how many numbers there are, and whether it is made of `sequences` or of
/// `publishers`, which wait whatever the policy.
@main struct Pipeline {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let count = Int(arguments[3]) else {
            throw PenstockError(.invalidInput, "Give a file, an overflow policy, a count, and what it is made of.")
        }
        let whenFull: DurableOverflow =
            switch arguments[2] {
            case "drop-newest": .dropNewest
            case "drop-oldest": .dropOldest
            default: .wait
            }
        let store = try await PenstockStore.open(path: arguments[1])
        let queue = try await store.queue("numbers", of: Int.self)
        var highest = 0
        for try await entry in queue.log(last: 1) { highest = try entry.payload() }
        if arguments[4] == "publishers" {
            try await PublisherPipeline.run(highest + 1..<count + 1, in: queue)
        } else {
            try await run(Bursts(next: highest + 1, last: count), whenFull, in: queue)
        }
        try await store.close()
    }

    private static func run(_ bursts: Bursts, _ whenFull: DurableOverflow, in queue: Queue<Int>) async throws {
        let given = Atomic(0)
        let stream = bursts.buffer(size: 20, prefetch: .byRequest, whenFull: whenFull, in: queue)
            .flatMap(maxConcurrent: 8) { number in Line(number: number) }
        for try await _ in stream {
            // A burst is larger than what has room; the next comes when half of that is worked.
            if given.add(1, ordering: .relaxed).newValue.isMultiple(of: 10) { bursts.more.yield() }
        }
    }
}

/// Numbers in bursts of 30.
private struct Bursts: AsyncSequence, Sendable {
    let next: Int
    let last: Int
    let more: AsyncStream<Void>.Continuation
    private let signals: AsyncStream<Void>

    init(next: Int, last: Int) {
        self.next = next
        self.last = last
        (signals, more) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    struct Iterator: AsyncIteratorProtocol {
        var next: Int
        let last: Int
        var signals: AsyncStream<Void>.Iterator
        var leftInBurst = 30

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Int? {
            guard next <= last else { return nil }
            if leftInBurst == 0 {
                guard await signals.next(isolation: isolation) != nil else { return nil }
                leftInBurst = 30
            }
            leftInBurst -= 1
            defer { next += 1 }
            return next
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(next: next, last: last, signals: signals.makeAsyncIterator())
    }
}

/// Writes a number as a line of its own, at once.
private struct Line: AsyncSequence, Sendable {
    let number: Int

    struct Iterator: AsyncIteratorProtocol {
        var number: Int?

        mutating func next(isolation: isolated (any Actor)? = #isolation) async throws(Never) -> Int? {
            guard let number = number.take() else { return nil }
            return writeLine(number)
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(number: number)
    }
}

/// Writes a number as a line to standard output, at once.
func writeLine(_ number: Int) -> Int {
    let text = Array("\(number)\n".utf8)
    _ = text.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    return number
}
