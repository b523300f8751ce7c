import ArgumentParser
import Penstock

struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Forget ended messages that retention does not keep, and give their space back.",
        discussion: """
            EXAMPLES
              penstock prune
              penstock prune mail --retain-age 1d
              penstock prune mail --retain-count 0

            Goes in small steps that hold nobody up for long. With a --retain option that one counts, and none of the \
            queue's own: what is not given has no bound. Messages that wait or run are never forgotten.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "Only this queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @Option(
        help: .init("Forget what ended longer ago than this.", valueName: "duration"), transform: Values.duration)
    var retainAge: Duration?

    @Option(help: .init("Keep this many ended messages of a queue.", valueName: "count"))
    var retainCount: Int?

    @Option(
        help: .init("Forget dead letters that died longer ago than this.", valueName: "duration"),
        transform: Values.duration)
    var retainDead: Duration?

    @MainActor func run() async throws {
        let isGiven = retainAge != nil || retainCount != nil || retainDead != nil
        let retention = isGiven ? Retention(age: retainAge, count: retainCount, deadAge: retainDead) : nil
        try await storeOptions.file.use(queue: queue) { store in
            if let queue { _ = try await storeOptions.file.queue(queue, in: store) }
            try Output().count(
                try await store.prune(queue: queue, retention: retention), "pruned", isJSON: storeOptions.isJSON)
        }
    }
}
