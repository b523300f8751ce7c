import ArgumentParser
import Penstock

struct QueueDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Remove a queue with all its messages, its history and its schedules.",
        discussion: """
            EXAMPLES
              penstock queue delete mail
              penstock queue delete mail --force

            Refused while messages wait or run, unless --force is given. Schedules of the queue go with it in \
            either case. Nothing is accepted while it goes on. When it is \
            interrupted, `queue list` says that the queue is being deleted; run the command again, \
            with --force if it had that.
            """)

    @OptionGroup var options: QueueOptions

    @Flag(help: "Remove it although messages wait or run.")
    var force = false

    @MainActor func run() async throws {
        let queue = options.queue
        try await options.storeOptions.file.use(queue: queue) { store in
            try await store.delete(queue, force: force)
            try Output().done("deleted", queue, isJSON: options.storeOptions.isJSON)
        }
    }
}
