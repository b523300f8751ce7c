import ArgumentParser
import Penstock
import PenstockCore
import PenstockFormats

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how much waits, runs and has died, and who works.",
        discussion: """
            EXAMPLES
              penstock status
              penstock status mail --watch --interval 500ms
              penstock status --json | jq '.queues[] | {queue, ready: .depths.ready}'

            FOR says how long the oldest message has been ready, and how long the oldest lease has been held. A message that is \
            due counts as ready there; it stays among the SCHEDULED until a worker's claim takes it up.

            With --json each look is one line: an object with "queues" and "workers", and with "move" where the queues move \
            to another store, or have moved there.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "Only this queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @Flag(help: "Look again and again, until it is interrupted.")
    var watch = false

    @Option(
        help: .init("With --watch: how long between two looks; 1s.", valueName: "duration"), transform: Values.duration)
    var interval: Duration?

    func validate() throws {
        guard let interval else { return }
        if !watch { throw ValidationError("--interval goes with --watch.") }
        guard interval >= .milliseconds(10) else { throw ValidationError("The shortest --interval is 10ms.") }
    }

    @MainActor func run() async throws {
        let output = Output()
        try await storeOptions.file.look(queue: queue) { store in
            // Ages are by the clock that the store goes by, which may be a server's.
            let time = store.time
            try await show(store.storage.status(of: queue), at: time.now, on: output)
            try output.flush()
            var outage = StoreOutage()
            while watch {
                try await time.sleep(for: interval ?? .seconds(1))
                do {
                    let status = try await store.storage.status(of: queue)
                    outage.ended()
                    try show(status, at: time.now, on: output)
                    try output.flush()
                } catch {
                    try await outage.wait(after: error, by: time)
                }
            }
        }
    }

    @MainActor
    private func show(_ status: StoreStatus, at now: Timestamp, on output: Output) throws {
        if storeOptions.isJSON {
            return try output.line(
                JSONValue.object([
                    "queues": .array(status.queues.map(\.json)), "workers": .array(status.workers.map(\.json)),
                ]).adding(status.move))
        }
        if watch {
            // Back to the top and clear below, so that the screen does not flicker; elsewhere a line between two looks.
            if output.isTerminal { try output.raw("\u{1B}[H\u{1B}[2J".utf8) }
            try output.line(TimeText.short(now))
        }
        if let move = status.move { try output.line(move.line) }
        try output.table(QueueTables.status(status.queues, now: now))
        if !status.workers.isEmpty {
            try output.line("")
            try output.table(QueueTables.workers(status.workers, now: now))
        }
        if watch && !output.isTerminal { try output.line("") }
    }
}
