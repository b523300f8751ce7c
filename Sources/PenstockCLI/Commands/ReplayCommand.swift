import ArgumentParser
import Penstock

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Put history back in line, as new messages that name their origin.",
        discussion: """
            EXAMPLES
              penstock replay mail --since -1d --dry-run
              penstock replay mail --from 1000 --into mail-again
              penstock replay mail --state dead,dropped

            Only messages that have ended are replayed, unless --state says otherwise. They keep payload, headers, \
            priority and attempts; they are due now and have no unique key. At least one of --from, --since, --last \
            and --state is needed; --from 1 is everything that retention has left.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The queue whose history it is.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    @OptionGroup var stretch: StretchOptions

    @Option(
        help: .init("Put the messages into this queue instead.", valueName: "queue"),
        completion: QueueCompletion.names, transform: Values.queue)
    var into: QueueName?

    @Flag(help: "Only say how many messages that would be.")
    var dryRun = false

    func validate() throws {
        if stretch.isEmpty {
            throw ValidationError(
                "Say which messages: with --from, --since, --last or --state. For all that are left: --from 1.")
        }
    }

    @MainActor func run() async throws {
        let query = stretch.query(of: queue, states: Set(MessageState.allCases.filter(\.isFinished)), limit: 1)
        if dryRun {
            try await storeOptions.file.look(queue: queue) { try await replay(query, in: $0) }
        } else {
            try await storeOptions.file.use(queue: queue) { try await replay(query, in: $0) }
        }
    }

    @MainActor
    private func replay(_ query: MessageQuery, in store: PenstockStore) async throws {
        // Said now, and not when the first message is found to have nowhere to go.
        if let into { _ = try await storeOptions.file.queue(into, in: store) }
        let count = try await store.replay(query, into: into, dryRun: dryRun)
        let output = Output()
        if dryRun {
            try output.count(
                count, "wouldReplay", addition: CountAddition(phrase: "would be replayed"),
                isJSON: storeOptions.isJSON, isChange: false)
        } else {
            try output.count(count, "replayed", isJSON: storeOptions.isJSON)
        }
    }
}
