import ArgumentParser
import Penstock
import PenstockFormats

struct WorkflowEmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "emit",
        abstract: "Tell a workflow's tasks, or one message, of something that happened.",
        usage: """
            penstock workflow emit <workflow> <event> [<payload>] [<options>]
            penstock workflow emit --message <sequence> <event> [<payload>]
            """,
        discussion: """
            EXAMPLES
              penstock workflow emit order-17 approved '{"by":"Grace"}'
              penstock workflow emit --message 12 approved

            Handlers that wait for the event go on, and those that come to wait for it later have it at once. The first \
            event of a name stays. A dead letter takes none, nor does a workflow whose tasks have all ended: redrive it first.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Option(
        help: .init("Tell only this message.", valueName: "sequence"), transform: Values.sequence)
    var message: SequenceNumber?

    @Argument(help: "The workflow unless --message is given, the event, and what it brings or - for standard input.")
    var words: [String] = []

    @MainActor func run() async throws {
        var left = words[...]
        let target: EventTarget
        if let message {
            target = .message(message)
        } else {
            target = .workflow(try WorkflowName(left.popFirst() ?? ""))
        }
        let event = try EventName(left.popFirst() ?? "")
        let payload = try Self.payload(left.first)
        try await storeOptions.file.use { store in
            let isFirst = try await store.emit(event.text, payload, to: target)
            let sentence =
                isFirst
                ? "Event \(Escape.text(event.text)) emitted."
                : "There was an event \(Escape.text(event.text)) before, which stays."
            try Output().answer(
                sentence, .object(["event": .string(event.text), "isFirst": .bool(isFirst)]),
                isJSON: storeOptions.isJSON, isChange: isFirst)
        }
    }

    func validate() throws {
        let least = message == nil ? 2 : 1
        guard (least...least + 1).contains(words.count) else {
            throw ValidationError(
                message == nil
                    ? "Write a workflow, an event and perhaps a payload." : "Write an event and perhaps a payload.")
        }
    }

    private static func payload(_ word: String?) throws -> [UInt8] {
        guard word == "-" else { return Array((word ?? "").utf8) }
        return try InputFile.readAll(word, bytesMax: Limits.resultBytesMax)
    }
}
