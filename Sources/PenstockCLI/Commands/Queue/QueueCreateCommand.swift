import ArgumentParser
import Penstock
import PenstockFormats

struct QueueCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a queue, and the file when there is none.",
        discussion: """
            EXAMPLES
              penstock queue create mail
              penstock queue create mail --capacity 1000 --when-full drop-oldest
              penstock queue create slow --attempts 3 --retry-base 1m --retain-age none
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The queue's name.", transform: Values.queue)
    var queue: QueueName

    @OptionGroup(title: "Policy") var policyOptions: PolicyOptions

    @Flag(help: "Leave a queue of that name as it is, and say nothing.")
    var ifAbsent = false

    @MainActor func run() async throws {
        let policy = try policyOptions.applied(to: QueuePolicy())
        try await storeOptions.file.use(mayCreate: true) { store in
            do {
                try await store.storage.configure(queue, .create(policy, ifAbsent: false))
            } catch let error as PenstockError where ifAbsent && error.code == .queueExists {
                guard storeOptions.isJSON else { return }
                return try Output().answer(
                    "", .object(["queue": .string(queue.text), "created": .bool(false)]), isJSON: true)
            }
            try Output().done("created", queue, isJSON: storeOptions.isJSON)
        }
    }
}
