internal import ArgumentParser
internal import Penstock
internal import PenstockCore
internal import Shared

/// Takes messages from a queue with many others waiting or lying about, and measures each claim alone.
struct ClaimsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "claims")

    @OptionGroup var options: StoreOptions

    @Option(help: "Claims.")
    var count = 500

    @Option(help: "Messages in one claim.")
    var batch = 1

    func run() async throws {
        let (store, queue) = try await options.open()
        let request = ClaimRequest(queue: queue.name, limit: batch, lease: .seconds(30))
        var claims = Latencies()
        var cpu: Int64 = 0
        var claimed = 0
        let began = bench_now()
        for _ in 0..<count {
            let cpuBefore = bench_cpu()
            let before = bench_now()
            let claim = try await store.storage.claim(request)
            claims.record(bench_now() - before)
            cpu += bench_cpu() - cpuBefore
            claimed += claim.messages.count
            _ = try await store.storage.settle(claim.messages.map { Settlement($0.lease, .done) })
        }
        var measured = Measured(
            messages: claimed, seconds: Double(bench_now() - began) / 1e9, cpuSeconds: Double(cpu) / 1e9)
        measured.latencies["claim"] = claims
        measured.print()
        // What was taken out comes in again, so that the next run finds as much.
        try await queue.enqueue(
            contentsOf: Array(repeating: options.bytes, count: claimed), durability: .processCrash)
        try await store.close()
    }
}

/// Sends a message now and then, and measures how long it takes until another process's handler has begun.
struct WakeSendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "wake-send")

    @OptionGroup var options: StoreOptions

    @Option(help: "The file in which the handler notes the time.")
    var board: String

    @Option(help: "Messages.")
    var count = 200

    func run() async throws {
        let board = try Board(board)
        let (store, queue) = try await options.open()
        waitForGo()
        var called = Latencies()
        var returned = Latencies()
        var enqueues = Latencies()
        for round in 0..<count {
            try await Task.sleep(for: .milliseconds(20) + .microseconds(round * 7919 % 10_000))
            let began = bench_now()
            try await queue.enqueue(options.bytes)
            let ended = bench_now()
            while board.done <= round { try await Task.sleep(for: .microseconds(500)) }
            called.record(board.end - began)
            returned.record(board.end - ended)
            enqueues.record(ended - began)
        }
        var measured = Measured(messages: count, seconds: 1, cpuSeconds: 0)
        measured.latencies = ["called": called, "returned": returned, "latency": enqueues]
        measured.print()
        try await store.close()
    }
}

/// The other process: notes when its handler begins.
struct WakeWorkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "wake-work")

    @OptionGroup var options: StoreOptions

    @Option(help: "The file in which the handler notes the time.")
    var board: String

    func run() async throws {
        let board = try Board(board)
        let (store, queue) = try await options.open()
        waitForGo()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Worker(queue) { _ in board.note() }.run() }
            await waitForStop()
            group.cancelAll()
        }
        try await store.close()
    }
}

/// A worker with nothing to do.
struct IdleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "idle")

    @OptionGroup var options: StoreOptions

    @Option(help: "Schedules of its queue, all of them far from due.")
    var schedules = 0

    @Option(help: "Queues that are open besides, and that nobody works.")
    var queues = 0

    func run() async throws {
        let (store, queue) = try await options.open()
        var others: [Queue<[UInt8]>] = []
        for number in 0..<queues { others.append(try await store.queue("other-\(number)")) }
        for number in 0..<schedules {
            let yearly = Schedule(
                queue: queue.name, spec: "0 0 1 1 *", zone: "Europe/Paris", message: NewMessage(payload: options.bytes))
            try await store.storage.schedule(ScheduleName("\(number)"), .put(yearly, replacing: true))
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Worker(queue) { _ in }.run() }
            waitForGo()
            group.cancelAll()
        }
        withExtendedLifetime(others) {}
        try await store.close()
    }
}
