import ArgumentParser
import Penstock
import PenstockFormats

struct WorkflowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "workflow",
        abstract: "Start, watch and cancel workflows: messages that wait for each other.",
        discussion: """
            A workflow has tasks, each a message of a queue that workers work like any other. A task is pending until what \
            it comes after has ended as it needs, and takes no room in its queue until then.
            """,
        subcommands: [
            WorkflowRunCommand.self, WorkflowListCommand.self, WorkflowShowCommand.self, WorkflowGraphCommand.self,
            WorkflowResultCommand.self, WorkflowEmitCommand.self, WorkflowCancelCommand.self,
        ])
}

/// The workflow that a command is about.
struct OneWorkflowOptions: ParsableArguments {
    @OptionGroup var fileOptions: FileOptions

    @Argument(help: "The workflow.", transform: { try WorkflowName($0) })
    var name: WorkflowName
}
