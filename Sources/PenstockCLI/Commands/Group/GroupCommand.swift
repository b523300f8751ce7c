import ArgumentParser
import Penstock

/// `penstock group`
struct GroupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group",
        abstract: "Look at the groups of a queue, and pause them.",
        subcommands: [GroupListCommand.self, GroupPauseCommand.self, GroupResumeCommand.self])
}

/// A group that a command changes.
struct OneGroupOptions: ParsableArguments {
    @OptionGroup var queueOptions: QueueOptions

    @Argument(help: "The key of the group.")
    var key: String

    /// Calls `body` with the queue, and says what that did.
    @MainActor
    func change(_ verb: String, _ body: @MainActor (Queue<[UInt8]>) async throws -> Void) async throws {
        let queue = queueOptions.queue
        try await queueOptions.fileOptions.file.use(queue: queue) { store in
            try await body(try await store.queue(queue.text, create: false))
            try Output().answer(
                "Group \(Escape.text(key)) of \(Escape.text(queue.text)) \(verb).",
                .object(["queue": .string(queue.text), "group": .string(key), verb: .bool(true)]),
                isJSON: queueOptions.outputOptions.isJSON)
        }
    }
}

/// `penstock group pause`
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
        try await options.change("paused") { try await $0.pauseGroup(options.key) }
    }
}

/// `penstock group resume`
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
        try await options.change("resumed") { try await $0.resumeGroup(options.key) }
    }
}
