internal import ArgumentParser
internal import Penstock
internal import Shared
internal import Synchronization

/// Who takes messages out.
struct ConsumerOptions: ParsableArguments {
    @Option(help: "Handlers of a worker, each with one message at a time.")
    var handlers = 64

    @Option(help: "Instead of a worker: tasks that claim and settle batches.")
    var consumers = 0

    @Option(help: "Messages in one claim of these.")
    var claim = 100
}

/// Producers and handlers in one process, until every message is settled.
struct LifeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "life")

    @OptionGroup var options: StoreOptions
    @OptionGroup var producing: ProducerOptions
    @OptionGroup var consuming: ConsumerOptions

    func run() async throws {
        let (store, queue) = try await options.open()
        let payload = options.bytes
        let producing = producing
        let consuming = consuming
        var values: [Int64] = []
        let total = producing.total
        let batches = Batches(store: store, queue: queue, limit: consuming.claim)
        var measured = try await Measured.run(total) {
            values = try await withThrowingTaskGroup(of: [Int64].self) { group in
                group.addTask { try await producing.produce(payload, to: queue) }
                group.addTask {
                    if consuming.consumers > 0 {
                        try await work(batches, tasks: consuming.consumers, total: total)
                    } else {
                        try await Worker(queue, options: .init(concurrency: consuming.handlers, max: total)) { _ in }
                            .run()
                    }
                    return []
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
        }
        measured.latencies["latency", default: Latencies()].add(values)
        measured.print()
        try await store.close()
    }
}

/// Lets `tasks` tasks claim and settle batches, until `total` messages are settled.
func work(_ batches: Batches, tasks: Int, total: Int) async throws {
    let tally = Tally()
    try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<tasks {
            group.addTask {
                try await batches.work(until: { tally.done >= total }) { tally.add($0) }
            }
        }
        // Who settles the last one is through; the others may wait for messages that will not come.
        try await group.next()
        group.cancelAll()
        while true {
            do {
                if try await group.next() == nil { return }
            } catch is CancellationError {}
        }
    }
}

/// How many messages the tasks of a process have settled.
final class Tally: Sendable {
    private let count = Atomic(0)

    var done: Int { count.load(ordering: .relaxed) }

    @discardableResult
    func add(_ more: Int) -> Int { count.add(more, ordering: .relaxed).newValue }
}

/// One of several processes: works until it is told to stop.
struct WorkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "work")

    @OptionGroup var options: StoreOptions
    @OptionGroup var consuming: ConsumerOptions

    @Option(help: "The file in which all processes count.")
    var board: String

    @Option(help: "Messages of all processes together.")
    var goal = 10_000

    func run() async throws {
        let board = try Board(board)
        let (store, queue) = try await options.open()
        let goal = goal
        let consuming = consuming
        let batches = Batches(store: store, queue: queue, limit: consuming.claim)
        waitForGo()
        try await withThrowingTaskGroup(of: Void.self) { group in
            if consuming.consumers > 0 {
                for _ in 0..<consuming.consumers {
                    group.addTask {
                        try await batches.work(until: { false }) { settled in
                            for _ in 0..<settled { board.count(goal: goal) }
                        }
                    }
                }
            } else {
                group.addTask {
                    try await Worker(queue, options: .init(concurrency: consuming.handlers)) { _ in
                        board.count(goal: goal)
                    }.run()
                }
            }
            await waitForStop()
            group.cancelAll()
            while true {
                do {
                    if try await group.next() == nil { return }
                } catch is CancellationError {}
            }
        }
        Measured(messages: 0, seconds: 0, cpuSeconds: Double(bench_cpu()) / 1e9).print()
        try await store.close()
    }
}

/// Counters that several processes share.
struct Board: Sendable {
    /// Set once; what it points to is atomic, and mapped until the process ends.
    private let address: Int

    init(_ path: String) throws {
        guard let board = bench_board_open(path) else { throw ValidationError("\(path) cannot be mapped.") }
        address = Int(bitPattern: board)
    }

    private var board: OpaquePointer? { OpaquePointer(bitPattern: address) }

    /// Counts one message done; whoever makes `goal` notes the time.
    func count(goal: Int) { bench_board_count(board, Int64(goal)) }

    /// How many were counted.
    var done: Int { Int(bench_board_done(board)) }

    /// When the goal was reached, or the last one was noted.
    var end: Int64 { bench_board_end(board) }

    /// Counts one message done, and notes the time.
    func note() { bench_board_note(board) }
}
