import ArgumentParser
import Penstock
import PenstockFormats

struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue",
        abstract: "Make, change, pause and remove queues.",
        subcommands: [
            QueueCreateCommand.self, QueueSetCommand.self, QueueShowCommand.self, QueueListCommand.self,
            QueuePauseCommand.self, QueueResumeCommand.self, QueueDeleteCommand.self,
        ])
}

extension Output {
    /// What was done to a queue, as a sentence or as JSON.
    func done(_ verb: String, _ queue: QueueName, isJSON: Bool) throws(Failure) {
        try answer(
            "Queue \(Escape.text(queue.text)) \(verb).", .object(["queue": .string(queue.text), verb: .bool(true)]),
            isJSON: isJSON)
    }
}
