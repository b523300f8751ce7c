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
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        var left = count
                        for try await delivery in queue.deliveries(inFlightMax: width) {
                            group.addTask { try await delivery.done() }
                            left -= 1
                            if left == 0 { break }
                        }
                        try await group.waitForAll()
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

/// Events over a bus on a store, until every subscriber has them all.
struct BusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bus")

    @OptionGroup var options: StoreOptions

    @Option(help: "Subscribers with a handler.")
    var subscribers = 1

    @Option(help: "Tasks that send, each awaiting its own; 0: one task that hands over with <<.")
    var senders = 0

    @Option(help: "Events.")
    var count = 10_000

    private struct Tick: Event {
        var number: Int
    }

    func run() async throws {
        let (store, _) = try await options.open()
        let (count, senders, subscribers) = (count, senders, subscribers)
        let bus = try await EventBus.open(in: store)
        let (ends, ended) = AsyncStream<Void>.makeStream()
        let tokens = (0..<subscribers).map { _ in
            let tally = Tally()
            return bus >> { (_: Tick) in
                if tally.add(1) == count { ended.yield() }
            }
        }
        var sent = 0.0
        var measured = try await Measured.run(count) {
            let began = bench_now()
            if senders == 0 {
                for number in 0..<count {
                    bus << Tick(number: number)
                    // Nothing holds a sender back that hands over, and what is too much would be lost.
                    if number % (EventBus.handedOverMax / 2) == 0 { await bus.flush() }
                }
                await bus.flush()
            } else {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for sender in 0..<senders {
                        group.addTask {
                            for number in stride(from: sender, to: count, by: senders) {
                                try await bus.send(Tick(number: number))
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            sent = Double(bench_now() - began) / 1e9
            var left = subscribers
            if left > 0 {
                for await _ in ends {
                    left -= 1
                    if left == 0 { break }
                }
            }
        }
        measured.numbers["sent"] = sent
        measured.print()
        withExtendedLifetime(tokens) {}
        try await store.close()
    }
}
