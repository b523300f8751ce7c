import ArgumentParser
import Penstock

/// `penstock queue set`
struct QueueSetCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change a queue's policy. What is not given stays as it is.",
        discussion: """
            EXAMPLES
              penstock queue set mail --capacity none
              penstock queue set mail --attempts 20 --retry-cap 10m

            What waits beyond a smaller capacity stays; it only keeps new messages out.
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    @OptionGroup(title: "Policy") var policyOptions: PolicyOptions

    func validate() throws {
        if policyOptions.isEmpty { throw ValidationError("Say what to change, for example --capacity 1000.") }
    }

    func execute() async throws {
        try await fileOptions.file.use(queue: queue) { store in
            let queue = try await store.queue(queue.text, create: false)
            let policy = try policyOptions.applied(to: try await queue.status().policy)
            try await queue.setPolicy(policy)
            try Output().done("set", queue.name, isJSON: outputOptions.isJSON)
        }
    }
}
