import ArgumentParser
import Penstock

struct RetryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Put messages back in line now: dead letters with new attempts, and scheduled ones.",
        discussion: """
            EXAMPLES
              penstock retry 12 13

            All are put back or none. For all dead letters of a queue: penstock dead redrive --queue QUEUE.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: .init("The messages' sequence numbers.", valueName: "sequence"), transform: Values.sequence)
    var sequences: [SequenceNumber]

    @MainActor func run() async throws {
        try await storeOptions.file.use { store in
            try Output().count(
                try await store.redrive(.sequences(sequences)), "redriven",
                addition: CountAddition(phrase: "put back in line"),
                isJSON: storeOptions.isJSON)
        }
    }
}
