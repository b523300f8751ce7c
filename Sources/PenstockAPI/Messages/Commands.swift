import Hummingbird
import Penstock
import PenstockCore
import PenstockFormats
import PenstockHTTP

/// `POST /v1/commands`: what people do by hand with messages, one by one or many at once.
struct Commands: Sendable {
    let store: PenstockStore

    func add(to v1: RouterGroup<ServerContext>) {
        v1.post("commands", use: command)
    }

    @Sendable private func command(_ request: Request, _ context: ServerContext) async throws -> Response {
        try request.refuseParameters()
        try context.principal.require(.operate)
        let entry = try await request.json(CommandEntry.self, as: "The command")
        switch entry.selection {
        case .sequences(let sequences):
            try await Lookup(store: store).require(context.principal, .operate, sequences)
        case .queue(let queue, _, _, _, _, _):
            try context.principal.require(.operate, queue)
        }
        let count =
            entry.isDryRun
            ? try await store.storage.count(entry.selection, for: entry.command)
            : try await store.storage.apply(entry.command, to: entry.selection)
        return .json(
            .object([
                "command": .string(entry.word), "count": .integer(count), "isDryRun": .bool(entry.isDryRun),
            ]))
    }
}

/// A command, as somebody has written it.
private struct CommandEntry: Decodable {
    var word: String
    var command: LineCommand
    var selection: Selection
    var isDryRun: Bool

    init(from decoder: any Decoder) throws {
        let members = try Members(
            decoder, ["command", "sequences", "filter", "within", "dryRun", "expected"], of: "A command")
        word = try members.required("command")
        let time = try members.duration("within")
        switch word {
        case "redrive": command = .redrive
        case "discard": command = .discard
        case "cancel": command = .cancel
        case "requestCancel": command = .requestCancel(within: time ?? Limits.cancelTime)
        default:
            throw PenstockError(
                .invalidInput,
                "'\(Escape.excerpt(word))' is no command; the commands are redrive, discard, cancel and requestCancel.")
        }
        try require(time == nil || word == "requestCancel", "\"within\" goes with requestCancel.")
        try command.validate()
        isDryRun = try members.value("dryRun") ?? false
        let expected = try members.count("expected", in: 0...Int.max)
        let (sequences, filter): ([Int64]?, FilterEntry?) = (
            try members.value("sequences"), try members.value("filter")
        )
        switch (sequences, filter) {
        case (let sequences?, nil):
            try require(
                (1...Bounds.sequenceCountMax).contains(sequences.count) && sequences.allSatisfy { $0 > 0 },
                "A command names 1 to \(Bounds.sequenceCountMax) messages by their sequence numbers.")
            try require(expected == nil, "\"expected\" goes with a \"filter\".")
            selection = .sequences(sequences.map { SequenceNumber($0) })
        case (nil, let filter?):
            selection = try filter.selection(for: command, expected: expected)
        default:
            throw PenstockError(
                .invalidInput, "A command names its messages: with \"sequences\", or with a \"filter\".")
        }
    }
}

/// Which messages of a queue.
private struct FilterEntry: Decodable {
    private var queue: QueueName
    private var states: Set<MessageState>?
    private var group: String?
    private var filter: MessageFilter
    private var limit: Int?

    init(from decoder: any Decoder) throws {
        let members = try Members(
            decoder,
            [
                "queue", "states", "group", "uniqueKey", "headers", "payloadContains", "errorContains", "reason",
                "error",
                "limit",
            ], of: "A filter")
        queue = try members.required("queue")
        states = try members.value("states")
        group = try members.value("group")
        filter = MessageFilter(
            uniqueKey: try members.value("uniqueKey"), headers: try members.value("headers") ?? [:],
            payloadContains: try members.value("payloadContains"), errorContains: try members.value("errorContains"))
        // As a group of dead letters has them.
        if let error: String = try members.value("error") {
            filter.signature = ErrorSignature(try members.value("reason"), error)
        } else {
            try require(!members.has("reason"), "\"reason\" goes with the \"error\" of a group of dead letters.")
        }
        limit = try members.count("limit", in: 0...Int.max)
    }

    func selection(for command: LineCommand, expected: Int?) throws(PenstockError) -> Selection {
        let states = states ?? command.states
        try require(
            states.isSubset(of: command.states),
            "The command is for messages that are \(command.states.map(\.rawValue).sorted().joined(separator: ", ")).")
        return .queue(queue, states: states, group: group, matching: filter, limit: limit, expected: expected)
    }
}
