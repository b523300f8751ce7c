import ArgumentParser
import Penstock
import PenstockCore
import PenstockFormats

struct WhyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "why",
        abstract: "Say what a message waits for: the time, other tasks, its group, a limit, those ahead of it.",
        discussion: """
            EXAMPLES
              penstock why 12
              penstock why 12 --json | jq .causes

            It says what the file says, and no more: it cannot know whether a worker listens to the queue just now, or which \
            kinds of messages it takes up. A message whose due time is over stays scheduled until a worker's claim takes it \
            up. It changes nothing, and no writer waits for it.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: .init("The message's sequence number.", valueName: "sequence"), transform: Values.sequence)
    var sequence: SequenceNumber

    @MainActor func run() async throws {
        let output = Output()
        try await storeOptions.file.look { store in
            let reason = try await store.waitReason(of: sequence)
            // Asked for with the queue, as whoever may look at the message may look at that.
            let move = try await store.storage.status(of: reason.message.queue).move
            if storeOptions.isJSON {
                try output.line(reason.json.adding(move))
            } else {
                if let move { try output.line(move.line) }
                for line in WaitText.lines(reason, at: store.time.now) { try output.line(line) }
            }
            try output.flush()
        }
    }
}
