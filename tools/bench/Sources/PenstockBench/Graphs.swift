internal import ArgumentParser
internal import Penstock
internal import PenstockCore
internal import Shared

/// Starts workflows and works them to their end, one after the other; or enqueues as many messages that do not wait for
/// each other.
struct GraphCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "graph")

    enum Shape: String, ExpressibleByArgument, CaseIterable {
        /// No workflow: one call of `enqueue`.
        case plain
        /// One task, all others but one that wait for it, and one that waits for those.
        case fan
        /// Layers of a hundred, each task of which waits for two of the layer before.
        case layers
        /// Each task waits for the one before.
        case chain
    }

    @OptionGroup var options: StoreOptions

    @Option(help: "What waits for what.")
    var shape = Shape.fan

    @Option(help: "Tasks of one workflow.")
    var tasks = 1000

    @Option(help: "Messages in all.")
    var count = 10_000

    @Option(help: "Handlers of the worker.")
    var handlers = 64

    func run() async throws {
        let (store, queue) = try await options.open()
        let rounds = max(1, count / tasks)
        let payload = options.bytes
        let workflow = NewWorkflow(tasks: try graph(queue.name, payload))
        let options = Worker<[UInt8]>.Options(concurrency: handlers, max: tasks)
        let measured = try await Measured.run(rounds * tasks) {
            for _ in 0..<rounds {
                if shape == .plain {
                    try await queue.enqueue(contentsOf: Array(repeating: payload, count: tasks))
                } else {
                    _ = try await store.storage.start(workflow, durability: self.options.durability)
                }
                try await Worker(queue, options: options) { _ in }.run()
            }
        }
        measured.print()
        try await store.close()
    }

    private func graph(_ queue: QueueName, _ payload: [UInt8]) throws -> [NewTask] {
        let names = try (0..<tasks).map { try TaskName("\($0)") }
        return names.enumerated().map { index, name in
            let parents: [Int] =
                switch shape {
                case .plain: []
                case .fan: index == 0 ? [] : index == tasks - 1 ? Array(1..<index) : [0]
                case .layers: index < 100 ? [] : [index - 100, (index / 100 - 1) * 100 + (index + 1) % 100]
                case .chain: index == 0 ? [] : [index - 1]
                }
            return NewTask(
                name, queue: queue, message: NewMessage(payload: payload),
                dependencies: parents.map { Dependency(on: names[$0]) })
        }
    }
}
