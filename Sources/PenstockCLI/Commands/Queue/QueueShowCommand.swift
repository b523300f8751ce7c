import ArgumentParser
import Penstock
import PenstockFormats

/// `penstock queue show`
struct QueueShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a queue's policy and numbers.",
        discussion: """
            EXAMPLES
              penstock queue show mail
              penstock queue show mail --json | jq .policy
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    @MainActor func run() async throws {
        try await fileOptions.file.look(queue: queue) { store in
            let status = try await store.queue(queue.text, create: false).status()
            try Output().show([status.json], or: QueueTables.details(status), isJSON: outputOptions.isJSON)
        }
    }
}
