internal import ArgumentParser
internal import Penstock
internal import PenstockCore
internal import Shared
internal import Synchronization

/// Claims messages and settles them, a batch in one call each.
struct Batches: Sendable {
    let store: PenstockStore
    let queue: Queue<[UInt8]>
    let limit: Int

    /// Claims what there is, up to the limit, and settles it.
    ///
    /// - Returns: how many messages that was.
    func turn() async throws -> Int {
        let claim = try await store.storage.claim(
            ClaimRequest(queue: queue.name, limit: limit, lease: .seconds(30)))
        if claim.messages.isEmpty { return 0 }
        let results = try await store.storage.settle(claim.messages.map { Settlement($0.lease, .done) })
        try check(results)
        return results.count
    }

    /// Goes on until `isOver` says so, and waits when there is nothing to claim: settles a batch and claims the next one
    /// in one call. `count` is told of each batch that is settled.
    func work(until isOver: @Sendable () -> Bool, count: @Sendable (Int) -> Void) async throws {
        let request = ClaimRequest(queue: queue.name, limit: limit, lease: .seconds(30))
        var claimed: [ClaimedMessage] = []
        while !isOver() {
            let token = store.storage.changes.token(for: queue.name)
            let settle = StoreOperation.settle(claimed.map { Settlement($0.lease, .done) })
            let performed = try await store.storage.perform([settle, .claim(request)])
            if let failure = performed.failure { throw failure }
            if case .settled(let results)? = performed.answers.first { try check(results) }
            if !claimed.isEmpty { count(claimed.count) }
            guard case .claimed(let claim)? = performed.answers.last else { continue }
            claimed = claim.messages
            if claimed.isEmpty, !isOver() { try await store.storage.changes.wait(for: queue.name, after: token) }
        }
    }

    private func check(_ results: [SettleResult]) throws {
        for result in results where result != .settled(.done) {
            throw PenstockError(.leaseLost, "A message could not be settled: \(result)")
        }
    }
}

/// Claims and settles messages that are there already.
struct SettleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "settle")

    @OptionGroup var options: StoreOptions

    @Option(help: "Messages in one claim.")
    var batch = 100

    @Option(help: "Messages in all.")
    var count = 10_000

    func run() async throws {
        let (store, queue) = try await options.open()
        try await ProducerOptions.filling(count).produceQuietly(options.bytes, to: queue)
        let batches = Batches(store: store, queue: queue, limit: batch)
        let count = count
        var done = 0
        try await Measured.run(count) {
            while done < count { done += try await batches.turn() }
        }.print()
        try await store.close()
    }
}

/// Works messages that are there already, with empty handlers.
struct DrainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "drain")

    @OptionGroup var options: StoreOptions

    @Option(help: "Handlers at once.")
    var concurrency = 1

    @Option(help: "Messages in all.")
    var count = 10_000

    @Flag(help: "Note the memory at every tenth of the way.")
    var memory = false

    func run() async throws {
        let (store, queue) = try await options.open()
        if !options.keep { try await ProducerOptions.filling(count).produceQuietly(options.bytes, to: queue) }
        let notes = Mutex<[String: Double]>([:])
        let tally = Tally()
        let tenth = max(1, count / 10)
        let notesMemory = memory
        let worker = Worker(queue, options: .init(concurrency: concurrency, max: count)) { _ in
            guard notesMemory else { return }
            let number = tally.add(1)
            if number % tenth == 0 {
                let bytes = Memory.resident
                notes.withLock { $0["rss_\(number / tenth)0"] = bytes }
            }
        }
        var measured = try await Measured.run(count) { try await worker.run() }
        if memory {
            measured.numbers = notes.withLock { $0 }
            measured.numbers["rss_peak"] = Memory.peak
        }
        measured.print()
        try await store.close()
    }
}

extension ProducerOptions {
    /// Enough batches for `count` messages.
    static func filling(_ count: Int) -> ProducerOptions {
        var options = ProducerOptions()
        options.producers = 1
        options.batch = min(1000, count)
        options.count = count
        return options
    }

    /// Enqueues, for another measurement to begin with.
    func produceQuietly(_ payload: [UInt8], to queue: Queue<[UInt8]>) async throws {
        var left = count
        let payloads = Array(repeating: payload, count: batch)
        while left > 0 {
            try await queue.enqueue(contentsOf: Array(payloads.prefix(left)), durability: .processCrash)
            left -= batch
        }
    }
}
