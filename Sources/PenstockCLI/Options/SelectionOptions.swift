import ArgumentParser
import Penstock
import PenstockFormats

/// Messages for a command by hand: some by number, or a queue's.
struct SelectionOptions: ParsableArguments {
    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: .init("The messages' sequence numbers.", valueName: "sequence"), transform: Values.sequence)
    var sequences: [SequenceNumber] = []

    @Option(
        help: .init("Instead of numbers: this queue's messages, oldest first.", valueName: "queue"),
        completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @Option(help: .init("With --queue: only those of the group with this key.", valueName: "key"))
    var group: String?

    @OptionGroup(title: "With --queue") var filterOptions: FilterOptions

    @Option(help: .init("With --queue: how many at most.", valueName: "count"))
    var limit: Int?

    @Option(
        help: .init(
            "With --queue: change nothing if more messages match, such as since --dry-run has counted them.",
            valueName: "count"))
    var expect: Int?

    @Flag(help: "Only say how many messages that would be.")
    var dryRun = false

    func validate() throws {
        if sequences.isEmpty == (queue == nil) {
            throw ValidationError("Say which messages: by their sequence numbers, or by --queue QUEUE.")
        }
        if queue == nil {
            if limit != nil { throw ValidationError("--limit goes with --queue.") }
            if group != nil { throw ValidationError("--group goes with --queue.") }
            if expect != nil { throw ValidationError("--expect goes with --queue.") }
            if !filterOptions.isEmpty {
                throw ValidationError("--error-contains, --payload-contains, --header and --key go with --queue.")
            }
        }
        if dryRun, expect != nil {
            throw ValidationError("--dry-run counts, and --expect takes what it has counted; leave one of them out.")
        }
        try Bounds.check(limit, 1...Int(Int32.max), "--limit")
        try Bounds.check(expect, 0...Int(Int32.max), "--expect")
    }

    /// Carries out `command` on the messages; of a queue, on those in one of `states`. Says to how many that befell, with what
    /// `addition` gives. With `--dry-run` it only counts them.
    ///
    /// - Parameters:
    ///   - like: a dead letter; of a queue only those that failed as it did are meant.
    ///   - check: throws when nothing is to be done.
    @MainActor
    func apply(
        _ command: LineCommand, states: Set<MessageState>, like: SequenceNumber? = nil,
        check: @MainActor (PenstockStore, Selection) async throws -> Void = { _, _ in },
        addition: @MainActor (PenstockStore, Selection, Int) async throws -> CountAddition = { _, _, _ in
            CountAddition()
        }
    ) async throws {
        if dryRun {
            try await storeOptions.file.look(queue: queue) { store in
                let selection = try await selection(in: store, states: states, like: like)
                try await check(store, selection)
                let count = try await store.count(selection, for: command)
                try Output().count(
                    count, command.words.wouldKey, addition: CountAddition(phrase: "would be \(command.words.done)"),
                    isJSON: storeOptions.isJSON, isChange: false)
            }
        } else {
            try await storeOptions.file.use(queue: queue) { store in
                let selection = try await selection(in: store, states: states, like: like)
                try await check(store, selection)
                let count = try await store.storage.apply(command, to: selection)
                let said = try await CountAddition.read(beside: count, command.words.done) {
                    try await addition(store, selection, count)
                }
                try Output().count(count, command.words.done, addition: said, isJSON: storeOptions.isJSON)
            }
        }
    }

    private func selection(
        in store: PenstockStore, states: Set<MessageState>, like: SequenceNumber?
    ) async throws -> Selection {
        guard let queue else { return .sequences(sequences) }
        var filter = filterOptions.filter
        if let like {
            let example = try await store.message(like)
            guard let signature = example.errorSignature else {
                throw Failure(.usage, "Message \(like) is \(example.state.rawValue); --like takes a dead letter.")
            }
            filter.signature = signature
        }
        return .queue(queue, states: states, group: group, matching: filter, limit: limit, expected: expect)
    }
}

extension LineCommand {
    /// What has befallen messages by it, and the key under which JSON says how many it would befall.
    fileprivate var words: (done: String, wouldKey: String) {
        switch self {
        case .cancel, .requestCancel: ("cancelled", "wouldCancel")
        case .redrive: ("redriven", "wouldRedrive")
        case .discard: ("discarded", "wouldDiscard")
        }
    }
}

/// Dead letters that failed as another one did.
struct LikeOption: ParsableArguments {
    @Option(
        help: .init(
            "With --queue: only those that failed as this dead letter did; see `penstock dead list --by-error`.",
            valueName: "sequence"), transform: Values.sequence)
    var like: SequenceNumber?

    func validate(with selection: SelectionOptions) throws {
        if like != nil, selection.queue == nil { throw ValidationError("--like goes with --queue.") }
    }
}

/// What is said beside how many messages something happened to.
struct CountAddition {
    /// What the sentence says instead of the verb.
    var phrase: String?
    /// What JSON has beside the count.
    var members: [JSONValue.Member] = []

    /// What `read` finds of messages to which something has happened by now: an error of it is not to look as if nothing had.
    @MainActor
    static func read(
        beside count: Int, _ verb: String, _ read: @MainActor () async throws -> CountAddition
    ) async throws -> CountAddition {
        do {
            return try await read()
        } catch {
            guard count > 0, let cause = Failure(known: error), !(error is CancellationError) else { throw error }
            throw Failure(
                .outcomeUnknown,
                "\(CountText.format(count, "message")) \(verb). But what more there is to say of that cannot be read: \(cause.message)"
            )
        }
    }
}

extension Output {
    /// How many messages something happened to, as a sentence or as JSON under the key `verb`.
    func count(
        _ count: Int, _ verb: String, addition: CountAddition = CountAddition(), isJSON: Bool, isChange: Bool = true
    ) throws(Failure) {
        let members = [JSONValue.Member(key: verb, value: .integer(count))] + addition.members
        try answer(
            "\(CountText.format(count, "message")) \(addition.phrase ?? verb).", .object(members),
            isJSON: isJSON, isChange: isChange && count > 0)
    }
}
