import ArgumentParser
import Penstock
import PenstockFormats

struct WorkflowGraphCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "graph",
        abstract: "Write a workflow as a graph that other programs draw.",
        discussion: """
            EXAMPLES
              penstock workflow graph order-17 | dot -Tsvg > order.svg
              penstock workflow graph order-17 --format mermaid

            A dotted arrow is a need that is met by any end.
            """)

    @OptionGroup var options: OneWorkflowOptions

    @Option(help: .init("The graph's language: dot or mermaid.", valueName: "language"))
    var format: GraphFormat = .dot

    @MainActor func run() async throws {
        let output = Output()
        try await options.fileOptions.file.look { store in
            let tasks = try await store.tasks(of: options.name)
            for line in WorkflowGraph(name: options.name, tasks: tasks).lines(format) { try output.line(line) }
            try output.flush()
        }
    }
}

extension GraphFormat: ExpressibleByArgument {}
