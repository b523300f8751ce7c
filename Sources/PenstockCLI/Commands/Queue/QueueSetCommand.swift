import ArgumentParser
import Penstock

struct QueueSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change a queue's policy. What is not given stays as it is.",
        discussion: """
            EXAMPLES
              penstock queue set mail --capacity none
              penstock queue set mail --attempts 20 --retry-cap 10m

            What waits beyond a smaller capacity stays; it only keeps new messages out.
            """)

    @OptionGroup var options: QueueOptions

    @OptionGroup(title: "Policy") var policyOptions: PolicyOptions

    func validate() throws {
        if policyOptions.isEmpty { throw ValidationError("Say what to change, for example --capacity 1000.") }
    }

    @MainActor func run() async throws {
        try await options.change("set") { queue in
            try await queue.changePolicy { $0 = try policyOptions.applied(to: $0) }
        }
    }
}
