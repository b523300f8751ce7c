import ArgumentParser
import Penstock
import PenstockFormats

/// `penstock why`
struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Say what a message waits for: the time, other tasks, its group, a limit, those ahead of it.",
        discussion: """
            EXAMPLES
              penstock why 12
              penstock why 12 --json | jq .causes

            It says what the file says, and no more: it cannot know whether a worker listens to the queue just now, or which \
            kinds of messages it takes up. It changes nothing, and no writer waits for it.
            """)

    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init("The message's sequence number.", valueName: "sequence"), transform: Values.sequence)
    var sequence: SequenceNumber

    @MainActor func run() async throws {
        let output = Output()
        try await fileOptions.file.look { store in
            let reason = try await store.waitReason(of: sequence)
            if outputOptions.isJSON {
                try output.line(reason.json)
            } else {
                for line in WaitText.lines(reason, at: store.time.now) { try output.line(line) }
            }
            try output.flush()
        }
    }
}
