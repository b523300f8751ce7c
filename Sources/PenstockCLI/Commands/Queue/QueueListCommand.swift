import ArgumentParser
import Penstock
import PenstockFormats

/// `penstock queue list`
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

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @MainActor func run() async throws {
        let output = Output()
        try await fileOptions.file.look { store in
            let queues = try await store.queues()
            if outputOptions.isJSON {
                for queue in queues { try output.line(queue.json) }
            } else {
                try output.table(QueueTables.policies(queues))
            }
            try output.flush()
        }
    }
}
