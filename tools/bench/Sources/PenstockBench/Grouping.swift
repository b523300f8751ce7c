internal import ArgumentParser
internal import Penstock
internal import PenstockCore
internal import Shared

/// The life of messages that have groups: enqueued in batches, and worked.
struct GroupedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "grouped")

    enum Gate: String, ExpressibleByArgument, CaseIterable {
        /// No groups: the same messages without.
        case none
        /// One of each group at a time.
        case fifo
        /// Four of each group at a time.
        case limit
    }

    @OptionGroup var options: StoreOptions

    @Option(help: "What holds messages of a group up.")
    var gate = Gate.fifo

    @Option(help: "Groups, which the messages take turns in.")
    var groups = 1000

    @Option(help: "Messages in all.")
    var count = 20_000

    @Option(help: "Handlers of the worker.")
    var handlers = 64

    @Option(help: "Messages of one more group, which is paused, in front of all others.")
    var blocked = 0

    func run() async throws {
        var policy = QueuePolicy()
        policy.groups = gate == .none ? nil : gate == .fifo ? .fifo() : .limit(4)
        let (store, queue) = try await options.open(policy: policy)
        if blocked > 0 {
            try await queue.pauseGroup("front")
            try await enqueue(blocked, in: ["front"], to: queue)
        }
        let keys: [String?] = gate == .none ? [nil] : (0..<groups).map { "group \($0)" }
        let measured = try await Measured.run(count) {
            try await enqueue(count, in: keys, to: queue)
            try await Worker(queue, options: .init(concurrency: handlers, max: count)) { _ in }.run()
        }
        measured.print()
        try await store.close()
    }

    private func enqueue(_ count: Int, in keys: [String?], to queue: Queue<[UInt8]>) async throws {
        let payload = options.bytes
        var next = 0
        while next < count {
            let batch = (next..<min(next + 1000, count)).map { number in
                NewMessage(payload: payload, group: keys[number % keys.count])
            }
            try await queue.enqueue(batch)
            next += batch.count
        }
    }
}
