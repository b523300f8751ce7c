import ArgumentParser
import Penstock

/// Messages for a command by hand: some by number, or a queue's.
struct SelectionOptions: ParsableArguments {
    @OptionGroup var fileOptions: FileOptions
    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init("The messages' sequence numbers.", valueName: "sequence"), transform: Values.sequence)
    var sequences: [SequenceNumber] = []

    @Option(
        help: .init("Instead of numbers: this queue's messages, oldest first.", valueName: "queue"),
        completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @Option(help: .init("With --queue: only those of the group with this key.", valueName: "key"))
    var group: String?

    @Option(help: .init("With --queue: how many at most.", valueName: "count"))
    var limit: Int?

    func validate() throws {
        if sequences.isEmpty == (queue == nil) {
            throw ValidationError("Say which messages: by their sequence numbers, or by --queue QUEUE.")
        }
        if limit != nil && queue == nil { throw ValidationError("--limit goes with --queue.") }
        if group != nil && queue == nil { throw ValidationError("--group goes with --queue.") }
        try Bounds.check(limit, 1...Int(Int32.max), "--limit")
    }

    /// Has `command` carried out on the messages; of a queue, on those in one of `states`. Says to how many that `verb` befell, with
    /// what `addition` gives.
    @MainActor
    func apply(
        _ command: @MainActor (PenstockStore, Selection) async throws -> Int, states: Set<MessageState>, _ verb: String,
        addition: @MainActor (PenstockStore, Selection, Int) async throws -> CountAddition = { _, _, _ in
            CountAddition()
        }
    ) async throws {
        try await fileOptions.file.use(queue: queue) { store in
            let selection: Selection =
                if let queue { .queue(queue, states: states, group: group, limit: limit) } else {
                    .sequences(sequences)
                }
            let count = try await command(store, selection)
            try Output().count(
                count, verb, addition: try await addition(store, selection, count), isJSON: outputOptions.isJSON)
        }
    }
}

/// What is said beside how many messages something happened to.
struct CountAddition {
    /// What the sentence says instead of the verb.
    var phrase: String?
    /// What JSON has beside the count.
    var members: [JSONValue.Member] = []
}

extension Output {
    /// How many messages something happened to, as a sentence or as JSON under the key `verb`.
    ///
    /// - Parameter isChange: whether it did happen.
    func count(
        _ count: Int, _ verb: String, addition: CountAddition = CountAddition(), isJSON: Bool, isChange: Bool = true
    ) throws(Failure) {
        let members = [JSONValue.Member(key: verb, value: .integer(count))] + addition.members
        try answer(
            "\(CountText.format(count, "message")) \(addition.phrase ?? verb).", .object(members),
            isJSON: isJSON, isChange: isChange && count > 0)
    }
}
