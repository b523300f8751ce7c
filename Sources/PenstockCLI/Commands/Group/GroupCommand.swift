import ArgumentParser
import Penstock
import PenstockFormats

struct GroupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group",
        abstract: "Look at the groups of a queue, pause them, and say how much they weigh.",
        subcommands: [
            GroupListCommand.self, GroupPauseCommand.self, GroupResumeCommand.self, GroupWeightCommand.self,
        ])
}

/// A group that a command changes.
struct OneGroupOptions: ParsableArguments {
    @OptionGroup var queueOptions: QueueOptions

    @Argument(help: "The key of the group.")
    var key: String

    /// Calls `body` with the queue, and says what that did.
    @MainActor
    func change(
        _ verb: String, _ member: (key: String, value: JSONValue),
        _ body: @MainActor (Queue<[UInt8]>) async throws -> Void
    ) async throws {
        let queue = queueOptions.queue
        try await queueOptions.storeOptions.file.use(queue: queue) { store in
            try await body(try await store.queue(queue.text, create: false))
            try Output().answer(
                "Group \(Escape.text(key)) of \(Escape.text(queue.text)) \(verb).",
                .object(["queue": .string(queue.text), "group": .string(key), member.key: member.value]),
                isJSON: queueOptions.storeOptions.isJSON)
        }
    }
}

struct GroupPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Keep messages of a group from workers. They are still accepted, and running ones go on.",
        discussion: """
            EXAMPLES
              penstock group pause mail customer-7
            """)

    @OptionGroup var options: OneGroupOptions

    @MainActor func run() async throws {
        try await options.change("paused", ("paused", .bool(true))) { try await $0.pauseGroup(options.key) }
    }
}

struct GroupResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let workers have messages of a paused group again.",
        discussion: """
            EXAMPLES
              penstock group resume mail customer-7
            """)

    @OptionGroup var options: OneGroupOptions

    @MainActor func run() async throws {
        try await options.change("resumed", ("resumed", .bool(true))) { try await $0.resumeGroup(options.key) }
    }
}

struct GroupWeightCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weight",
        abstract:
            "Say how much a group weighs in a queue that is shared fairly: 3 has three messages worked while others have one.",
        discussion: """
            It counts from the next message on that becomes ready. All groups weigh 1 unless they are told otherwise.

            EXAMPLES
              penstock group weight mail customer-7 3
            """)

    @OptionGroup var options: OneGroupOptions

    @Argument(help: "How much it weighs: 1 to 1000.")
    var weight: Int

    @MainActor func run() async throws {
        try await options.change("weighs \(weight)", ("weight", .integer(weight))) {
            try await $0.setWeight(weight, ofGroup: options.key)
        }
    }
}
