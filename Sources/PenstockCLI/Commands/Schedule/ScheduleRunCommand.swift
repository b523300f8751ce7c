import ArgumentParser
import Penstock
import PenstockFormats

struct ScheduleRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Enqueue its message now. Its next firing stays what it was.",
        discussion: """
            EXAMPLES
              penstock schedule run nightly
            """)

    @OptionGroup var options: OneScheduleOptions

    @MainActor func run() async throws {
        try await options.storeOptions.file.use { store in
            let firing = try await store.runSchedule(options.name.text).firings.first
            let output = Output()
            if firing?.outcome == .skipped {
                ErrorOutput.say("Nothing was enqueued: a message with that key waits or runs.")
            }
            try output.answer("The message is in line, but its number cannot be shown.") { () throws(Failure) in
                try output.line(
                    firing?.json ?? .null, or: firing?.sequence.map { "\($0)" } ?? "",
                    isJSON: options.storeOptions.isJSON)
            }
        }
    }
}
