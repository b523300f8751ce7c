internal import ArgumentParser
internal import Foundation
internal import Penstock
internal import Shared

/// Producers that each wait for their own enqueue.
struct ProducerOptions: ParsableArguments {
    @Option(help: "How many tasks enqueue, each waiting for its own call.")
    var producers = 1

    @Option(help: "Messages in one call.")
    var batch = 1

    @Option(help: "Messages in all.")
    var count = 10_000

    @Option(help: "Groups, which the messages take turns in; 0: none.")
    var groups = 0

    /// How many messages are enqueued: full batches for every producer.
    var total: Int { callsEach * producers * batch }

    private var callsEach: Int { max(1, (count + producers * batch - 1) / (producers * batch)) }

    /// Enqueues ``total`` messages.
    ///
    /// - Returns: how long each call took.
    func produce(_ payload: [UInt8], to queue: Queue<[UInt8]>) async throws -> [Int64] {
        let calls = callsEach
        let batch = batch
        let groups = groups
        return try await withThrowingTaskGroup(of: [Int64].self) { group in
            for producer in 0..<producers {
                group.addTask {
                    // Each producer of each process begins elsewhere.
                    var next = (Int(getpid()) + producer) * 7919
                    func options() -> EnqueueOptions {
                        next += 1
                        return EnqueueOptions(group: groups > 0 ? "group \(next % groups)" : nil)
                    }
                    let payloads = Array(repeating: payload, count: batch)
                    var latencies: [Int64] = []
                    latencies.reserveCapacity(calls)
                    for _ in 0..<calls {
                        let began = bench_now()
                        if batch == 1 {
                            try await queue.enqueue(payload, options: options())
                        } else {
                            try await queue.enqueue(contentsOf: payloads) { _ in options() }
                        }
                        latencies.append(bench_now() - began)
                    }
                    return latencies
                }
            }
            var all: [Int64] = []
            for try await latencies in group { all += latencies }
            return all
        }
    }

    /// Enqueues ``total`` messages, when the parent process says so or at once, and prints what was measured.
    func measure(on options: StoreOptions, whenTold: Bool) async throws {
        let (store, queue) = try await options.open()
        let payload = options.bytes
        var values: [Int64] = []
        if whenTold { waitForGo() }
        var measured = try await Measured.run(total) { values = try await produce(payload, to: queue) }
        measured.latencies["latency", default: Latencies()].add(values)
        measured.print()
        try await store.close()
    }
}

/// Enqueues and nothing else.
struct EnqueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "enqueue")

    @OptionGroup var options: StoreOptions
    @OptionGroup var producing: ProducerOptions

    func run() async throws { try await producing.measure(on: options, whenTold: false) }
}

/// One of several processes: produces when it is told to.
struct ProduceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "produce")

    @OptionGroup var options: StoreOptions
    @OptionGroup var producing: ProducerOptions

    func run() async throws { try await producing.measure(on: options, whenTold: true) }
}

/// Puts messages in line as fast as it goes, for another command to find.
struct FillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "fill")

    @OptionGroup var options: StoreOptions

    @Option(help: "Messages that are ready.")
    var ready = 0

    @Option(help: "Messages that are due tomorrow.")
    var scheduled = 0

    @Option(help: "Messages that are finished.")
    var finished = 0

    @Option(help: "What the queue does with groups.")
    var gate = Gate.none

    func run() async throws {
        let (store, queue) = try await options.open(policy: gate.policy)
        try await enqueue(finished, to: queue)
        let whole = Batches(store: store, queue: queue, limit: 1000)
        while try await whole.turn() > 0 {}
        try await enqueue(ready, to: queue)
        try await enqueue(scheduled, to: queue, due: .after(.seconds(86_400)))
        try await store.close()
    }

    private func enqueue(_ count: Int, to queue: Queue<[UInt8]>, due: Due = .now) async throws {
        let payloads = Array(repeating: options.bytes, count: 2000)
        var left = count
        while left > 0 {
            try await queue.enqueue(contentsOf: Array(payloads.prefix(left)), durability: .processCrash) { _ in
                EnqueueOptions(due: due)
            }
            left -= payloads.count
        }
    }
}
