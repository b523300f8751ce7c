import ArgumentParser
import Penstock
import PenstockFormats

struct WorkflowShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a workflow's tasks, and what each of them waits for.",
        discussion: """
            EXAMPLES
              penstock workflow show order-17
              penstock workflow show order-17 --json | jq '.tasks[] | select(.state == "dead")'

            For everything about a task's message: penstock show SEQUENCE.
            """)

    @OptionGroup var options: OneWorkflowOptions
    @OptionGroup var outputOptions: OutputOptions

    @MainActor func run() async throws {
        try await options.fileOptions.file.look { store in
            let record = try await store.workflow(options.name.text)
            let tasks = try await store.tasks(of: options.name)
            try Output().show(
                [record.json(tasks: tasks)],
                or: [WorkflowTables.summary(record), ""] + WorkflowTables.tasks(tasks).lines,
                isJSON: outputOptions.isJSON)
        }
    }
}
