import ArgumentParser
import Penstock
import PenstockFormats

struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Read a queue's log: every message that was accepted, in order.",
        discussion: """
            EXAMPLES
              penstock log mail
              penstock log mail --last 20 --follow
              penstock log mail --since -1h --state dead --json

            With --follow it goes on with each message as it is accepted, until it is interrupted. A server that does not answer for \
            a while is waited for, and no message is left out that is kept. Each message is shown once, with the state that it has \
            as it is read: what becomes of it later is not shown, so with --state it may be left out.
            """)

    @OptionGroup var options: QueueOptions

    @OptionGroup var stretch: StretchOptions

    @Flag(help: "Go on with what is accepted from now on.")
    var follow = false

    @MainActor func run() async throws {
        let output = Output()
        try await options.storeOptions.file.look(queue: options.queue) { store in
            let log = try await store.queue(options.queue.text, create: false).log(
                from: stretch.from, since: stretch.since, last: stretch.last, states: stretch.state, follow: follow)
            var entries = log.makeAsyncIterator()
            var outage = StoreOutage()
            let watch = follow ? Task { await endWithoutReader(by: store.time) } : nil
            defer { watch?.cancel() }
            while true {
                do {
                    guard let entry = try await entries.next() else { break }
                    outage.ended()
                    try show(entry.record, on: output)
                } catch {
                    guard follow else { throw error }
                    // The iterator goes on where it has failed.
                    try await outage.wait(after: error, by: store.time)
                }
            }
            try output.flush()
        }
    }

    /// Ends the process as a write would, once nobody reads what it writes: in a quiet queue nothing may be written for long.
    private func endWithoutReader(by time: any TimeSource) async {
        while !Descriptor.standardOutput.hasNoReader {
            do { try await time.sleep(for: .seconds(1)) } catch { return }
        }
        raise(SIGPIPE)
        // Services often start programs with that signal ignored.
        ProgramEnd.now(Failure(.inputOutput, "Nobody reads the log any more, and it cannot be written; redirect it."))
    }

    @MainActor
    private func show(_ record: MessageRecord, on output: Output) throws {
        try output.line(
            record.json(withAttempts: true), or: MessageTables.logLine(record), isJSON: options.storeOptions.isJSON)
        if follow { try output.flush() }
    }
}
