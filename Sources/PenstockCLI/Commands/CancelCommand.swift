import ArgumentParser
import Penstock

/// `penstock cancel`
struct CancelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Take messages out of the line.",
        discussion: """
            EXAMPLES
              penstock cancel 12 13
              penstock cancel --queue mail
              penstock cancel --queue mail --running

            A worker that has a cancelled message loses its lease, and its command is stopped. By numbers, all are \
            cancelled or none.
            """)

    @OptionGroup var selection: SelectionOptions

    @Flag(help: "With --queue: also those that workers have.")
    var running = false

    @MainActor func run() async throws {
        let states: Set<MessageState> =
            running ? [.pending, .scheduled, .blocked, .ready, .leased] : [.pending, .scheduled, .blocked, .ready]
        try await selection.apply({ try await $0.cancel($1) }, states: states, "cancelled")
    }
}
