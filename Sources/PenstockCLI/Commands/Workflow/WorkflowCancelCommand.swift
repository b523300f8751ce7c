import ArgumentParser
import Penstock
import PenstockFormats

struct WorkflowCancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel every task of a workflow that has not ended.",
        discussion: """
            EXAMPLES
              penstock workflow cancel order-17

            A worker that has one of them is asked to end: its command gets SIGTERM, and what it says then counts: a task that is done all the same is done.
            """)

    @OptionGroup var options: OneWorkflowOptions
    @OptionGroup var outputOptions: OutputOptions

    @MainActor func run() async throws {
        try await options.fileOptions.file.use { store in
            let count = try await store.cancelWorkflow(options.name.text)
            try Output().answer(
                "\(CountText.format(count, "task")) of workflow \(Escape.text(options.name.text)) cancelled.",
                .cancelled(options.name, count), isJSON: outputOptions.isJSON, isChange: count > 0)
        }
    }
}
