import ArgumentParser
import Penstock
import PenstockFormats

/// `penstock log`
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Read a queue's log: every message that was accepted, in order.",
        discussion: """
            EXAMPLES
              penstock log mail
              penstock log mail --last 20 --follow
              penstock log mail --since -1h --state dead --json

            With --follow it goes on with each message as it is accepted, until it is interrupted.
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    @OptionGroup var stretch: StretchOptions

    @Flag(help: "Go on with what is accepted from now on.")
    var follow = false

    @MainActor func run() async throws {
        let output = Output()
        try await fileOptions.file.look(queue: queue) { store in
            let log = try await store.queue(queue.text, create: false).log(
                from: stretch.from, since: stretch.since, last: stretch.last, states: stretch.state, follow: follow)
            for try await entry in log {
                if outputOptions.isJSON {
                    try output.line(entry.record.json(withAttempts: true))
                } else {
                    try output.line(MessageTables.logLine(entry.record))
                }
                if follow { try output.flush() }
            }
            try output.flush()
        }
    }
}
