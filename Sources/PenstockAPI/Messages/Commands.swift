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
        _ = try QueryParameters(request, known: [])
        try context.principal.require(.operate)
        let entry = try await request.json(CommandEntry.self, as: "The command")
        switch entry.selection {
        case .sequences(let sequences):
            try await Lookup(store: store).require(context.principal, .operate, sequences)
        case .queue(let queue, _, _, _):
            try context.principal.require(.operate, queue)
        }
        let count: Int
        if entry.isDryRun || entry.expected != nil {
            count = try await self.count(entry)
            if let expected = entry.expected, count != expected {
                var problem = Problem(
                    .conflict, code: "countChanged",
                    "The command would be for \(count) messages, and not for the \(expected) that were expected; nothing was done."
                )
                problem.members = [.init("count", String(count))]
                throw problem
            }
        } else {
            count = 0
        }
        let done = entry.isDryRun ? count : try await store.storage.apply(entry.command, to: entry.selection)
        return .json(
            .object([
                "command": .string(entry.word), "count": .integer(done), "isDryRun": .bool(entry.isDryRun),
            ]))
    }

    /// How many messages a command would be for.
    private func count(_ entry: CommandEntry) async throws -> Int {
        switch entry.selection {
        case .sequences(let sequences):
            let query = MessageQuery(
                sequences: sequences, states: entry.command.states, limit: max(sequences.count, 1))
            return try await store.storage.messages(query).count
        case .queue(let queue, let states, let group, let limit):
            var query = MessageQuery(queue: queue, group: group, states: states, limit: Limits.rowsMax)
            var count = 0
            while case let page = try await store.storage.messages(query), let last = page.last {
                count += page.count
                if let limit, count >= limit { return limit }
                query.after = last.sequence
            }
            return count
        }
    }
}

/// A command, as somebody has written it.
private struct CommandEntry: Decodable {
    var word: String
    var command: LineCommand
    var selection: Selection
    var isDryRun: Bool
    var expected: Int?

    init(from decoder: any Decoder) throws {
        let members = try Members(
            decoder, ["command", "sequences", "filter", "within", "dryRun", "expected"], of: "A command")
        word = try members.container.decode(String.self, forKey: MemberKey("command"))
        let time = try members.duration("within")
        switch word {
        case "redrive": command = .redrive
        case "discard": command = .discard
        case "cancel": command = .cancel
        case "requestCancel": command = .requestCancel(within: time ?? Limits.cancelTime)
        default:
            throw PenstockError(
                .invalidInput,
                "'\(Escape.text(word))' is no command; the commands are redrive, discard, cancel and requestCancel.")
        }
        try require(time == nil || word == "requestCancel", "\"within\" goes with requestCancel.")
        try command.validate()
        isDryRun = try members.value("dryRun") ?? false
        expected = try members.count("expected", in: 0...Int.max)
        let (sequences, filter): ([Int64]?, FilterEntry?) = (
            try members.value("sequences"), try members.value("filter")
        )
        switch (sequences, filter) {
        case (let sequences?, nil):
            try require(
                (1...Bounds.sequenceCountMax).contains(sequences.count) && sequences.allSatisfy { $0 > 0 },
                "A command names 1 to \(Bounds.sequenceCountMax) messages by their sequence numbers.")
            selection = .sequences(sequences.map { SequenceNumber($0) })
        case (nil, let filter?):
            selection = try filter.selection(for: command)
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
    private var limit: Int?

    init(from decoder: any Decoder) throws {
        let members = try Members(decoder, ["queue", "states", "group", "limit"], of: "A filter")
        queue = try members.container.decode(QueueName.self, forKey: MemberKey("queue"))
        states = try members.value("states")
        group = try members.value("group")
        limit = try members.count("limit", in: 0...Int.max)
    }

    func selection(for command: LineCommand) throws(PenstockError) -> Selection {
        let states = states ?? command.states
        try require(
            states.isSubset(of: command.states),
            "The command is for messages that are \(command.states.map(\.rawValue).sorted().joined(separator: ", ")).")
        return .queue(queue, states: states, group: group, limit: limit)
    }
}
