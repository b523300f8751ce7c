import ArgumentParser
import Penstock
import PenstockFormats

struct QueueShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a queue's policy and numbers.",
        discussion: """
            EXAMPLES
              penstock queue show mail
              penstock queue show mail --json | jq .policy
            """)

    @OptionGroup var options: QueueOptions

    @MainActor func run() async throws {
        try await options.storeOptions.file.look(queue: options.queue) { store in
            let status = try await store.queue(options.queue.text, create: false).status()
            try Output().show([status.json], or: QueueTables.details(status), isJSON: options.storeOptions.isJSON)
        }
    }
}
