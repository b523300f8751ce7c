import ArgumentParser
import Penstock

/// `penstock queue pause`
struct QueuePauseCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Refuse claims from a queue. Messages are still accepted, and running ones go on.",
        discussion: """
            EXAMPLES
              penstock queue pause mail
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    func execute() async throws {
        try await fileOptions.file.use(queue: queue) { store in
            try await store.queue(queue.text, create: false).pause()
            try Output().done("paused", queue, isJSON: outputOptions.isJSON)
        }
    }
}
