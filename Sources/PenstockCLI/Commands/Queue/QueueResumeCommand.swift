import ArgumentParser
import Penstock

/// `penstock queue resume`
struct QueueResumeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Allow claims from a paused queue again.",
        discussion: """
            EXAMPLES
              penstock queue resume mail
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    func execute() async throws {
        try await fileOptions.file.use(queue: queue) { store in
            try await store.queue(queue.text, create: false).resume()
            try Output().done("resumed", queue, isJSON: outputOptions.isJSON)
        }
    }
}
