import ArgumentParser
import Penstock
import PenstockCore
import PenstockFormats

struct QueueListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the queues with their policies.",
        discussion: """
            EXAMPLES
              penstock queue list
              penstock queue list --json | jq -r .queue

            For their numbers: penstock status.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @MainActor func run() async throws {
        let output = Output()
        try await storeOptions.file.look { store in
            let status = try await store.storage.status(of: nil)
            if storeOptions.isJSON {
                for queue in status.queues { try output.line(queue.json.adding(status.move)) }
            } else {
                if let move = status.move { try output.line(move.line) }
                try output.table(QueueTables.policies(status.queues))
            }
            try output.flush()
        }
    }
}
