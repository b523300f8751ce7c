import ArgumentParser
import Penstock
import PenstockFormats

struct WorkflowResultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "result",
        abstract: "Write what a task gave, byte for byte.",
        discussion: """
            EXAMPLES
              penstock workflow result order-17 charge | jq .receipt

            The exit status is 66 when the task gave nothing, or is not done.
            """)

    @OptionGroup var options: OneWorkflowOptions

    @Argument(help: "The task.", transform: { try TaskName($0) })
    var task: TaskName

    @MainActor func run() async throws {
        let output = Output()
        try await options.fileOptions.file.look { store in
            let result = try await store.result(of: task.text, in: options.name.text, as: [UInt8].self)
            guard let result else {
                throw Failure(
                    .missing,
                    "The task '\(Escape.text(task.text))' has no result: it gave none, or is not done; `penstock workflow "
                        + "show` says where it is.")
            }
            try output.raw(result)
            try output.flush()
        }
    }
}
