import ArgumentParser
import Penstock
import PenstockCore
import PenstockFormats

/// `penstock queue delete`
struct QueueDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Remove a queue with all its messages, its history and its schedules.",
        discussion: """
            EXAMPLES
              penstock queue delete mail
              penstock queue delete mail --force

            Refused while messages wait or run, unless --force is given. Schedules of the queue go with it in either case; it \
            is said how many. Nothing is accepted while it goes on. When it is \
            interrupted, `queue list` says that the queue is being deleted; run the command again, \
            with --force if it had that.
            """)

    @OptionGroup var options: QueueOptions

    @Flag(help: "Remove it although messages wait or run.")
    var force = false

    @MainActor func run() async throws {
        let queue = options.queue
        try await options.fileOptions.file.use(queue: queue) { store in
            let schedules = await Self.schedules(of: queue, in: store)
            try await store.delete(queue, force: force)
            try Output().done("deleted", queue, with: schedules, isJSON: options.outputOptions.isJSON)
        }
    }

    /// How many schedules the queue has, in words; empty where there is none, or where that cannot be seen.
    private static func schedules(of queue: QueueName, in store: PenstockStore) async -> String {
        let found = try? await store.storage.schedules(after: nil, limit: countMax) { $0.schedule.queue == queue }
        guard let found, !found.records.isEmpty else { return "" }
        return ", and \(found.isMore ? "more than " : "")\(CountText.format(found.records.count, "schedule")) with it"
    }

    private static let countMax = 1000
}
