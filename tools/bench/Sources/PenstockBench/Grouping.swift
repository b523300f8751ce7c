internal import ArgumentParser
internal import Penstock
internal import PenstockCore
internal import Shared

/// What holds messages of a group up.
enum Gate: String, ExpressibleByArgument, CaseIterable {
    /// No groups: the same messages without.
    case none
    /// One of each group at a time.
    case fifo
    /// Four of each group at a time.
    case limit
    /// A rate for the whole queue that keeps nothing back.
    case rate
    /// A rate for each group that keeps nothing back, but for what it costs: of a group one message is ready at a time.
    case keyRate = "key-rate"
    /// The groups share the queue fairly.
    case fair

    /// Whether messages have groups.
    var hasGroups: Bool { self != .none && self != .rate }

    var policy: QueuePolicy {
        var policy = QueuePolicy()
        let fast = Rate(1_000_000, per: .seconds(1), burst: 1_000_000)
        switch self {
        case .none: break
        case .fifo: policy.groups = .fifo()
        case .limit: policy.groups = .limit(4)
        case .rate: policy.rate = fast
        case .keyRate: (policy.groups, policy.ratePerKey) = (.limit(4), fast)
        case .fair: policy.isFair = true
        }
        return policy
    }
}

/// The life of messages that have groups: enqueued in batches, and worked.
struct GroupedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "grouped")

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
        let (store, queue) = try await options.open(policy: gate.policy)
        if blocked > 0 {
            try await queue.pauseGroup("front")
            try await enqueue(blocked, in: ["front"], to: queue)
        }
        let keys: [String?] = gate.hasGroups ? (0..<groups).map { "group \($0)" } : [nil]
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
