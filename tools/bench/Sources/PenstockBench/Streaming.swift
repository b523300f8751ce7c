internal import ArgumentParser
internal import Penstock
internal import Shared

/// Values through a durable stream, from a source that always has one, until each is settled; and a worker that does the
/// same with its enqueues.
struct StreamCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "stream")

    enum Way: String, ExpressibleByArgument {
        case buffer, deliveries, worker
    }

    @OptionGroup var options: StoreOptions

    @Argument(help: "buffer: buffer(in:) and flatMap; deliveries: deliveries(), each settled; worker: a Worker.")
    var way: Way

    @Option(help: "How many values are worked on at a time.")
    var width = 1

    @Option(help: "Values.")
    var count = 10_000

    func run() async throws {
        let (store, queue) = try await options.open()
        let (count, width) = (count, width)
        let values = Copies(value: options.bytes, count: count)
        let measured: Measured
        switch way {
        case .buffer:
            measured = try await Measured.run(count) {
                let stream = values.buffer(size: 1000, prefetch: .keepFull, whenFull: .wait, in: queue)
                    .flatMap(maxConcurrent: width) { _ in Copies(value: 0, count: 0) }
                for try await _ in stream {}
            }
        case .deliveries:
            measured = try await Measured.run(count) {
                try await beside(values, into: queue) {
                    try await withThrowingDiscardingTaskGroup { group in
                        var left = count
                        for try await delivery in queue.deliveries(inFlightMax: width) {
                            group.addTask { try await delivery.done() }
                            left -= 1
                            if left == 0 { break }
                        }
                    }
                }
            }
        case .worker:
            measured = try await Measured.run(count) {
                try await beside(values, into: queue) {
                    try await Worker(queue, options: .init(concurrency: width, max: count)) { _ in }.run()
                }
            }
        }
        measured.print()
        try await store.close()
    }

    /// Enqueues the values, as many in one call as a stream may have on their way, while `body` works.
    private func beside(
        _ values: Copies<[UInt8]>, into queue: Queue<[UInt8]>, _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var left = values.count
                while left > 0 {
                    let batch = min(left, Limits.stagedCountMax)
                    try await queue.enqueue(contentsOf: Array(repeating: values.value, count: batch))
                    left -= batch
                }
            }
            group.addTask { try await body() }
            try await group.waitForAll()
        }
    }
}

/// The same value a number of times.
private struct Copies<Element: Sendable>: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let value: Element
    var count: Int

    func makeAsyncIterator() -> Copies { self }

    mutating func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
        guard count > 0 else { return nil }
        count -= 1
        return value
    }
}
