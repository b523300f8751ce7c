import ArgumentParser
import Penstock
import PenstockFormats

struct EnqueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enqueue",
        // By this the parser knows, when it is given this command alone, that completions are not asked of it: to look for
        // that took it more than a millisecond.
        _superCommandName: "penstock",
        abstract: "Put a message in line, or one for every line of the input.",
        usage: "penstock enqueue <queue> [<payload>|-] [<options>]",
        discussion: """
            EXAMPLES
              penstock enqueue mail 'hello'
              penstock enqueue mail --file letter.txt --priority 5 --header lang=de
              date | penstock enqueue mail --delay 10m --key daily --if-exists replace
              penstock enqueue index page-7 --delay 5s --key page-7 --if-exists debounce --debounce-max 1m
              penstock enqueue mail --lines < addresses.txt
              penstock enqueue sums '3 4' --wait --timeout 10s

            The payload is the argument, a --file, or standard input. It writes the message's sequence number; when \
            that was written, the message survives what --durability says. The exit status is 0 as well, and standard error \
            says so, when the queue is full and drops the newest (nobody gets that message; --json: "state":"dropped"), and \
            when a message has the --key already (the number is that one's; --json: "skipped":true).

            With --lines every line is a message, the last one also without its line end. Empty lines are messages \
            too, unless --skip-empty is given. Bytes that are not UTF-8, and a carriage return at a line's end, pass \
            unharmed. Lines go in by batches, in their order; on an error, whatever its exit status, those before it stay, and \
            the error says how many.

            With --wait it ends when the message does, whoever works it, and writes what that gave, byte for byte, and \
            nothing else: what a command wrote under `penstock work --result`, or what a handler gave. The exit status \
            is 0 when the message is done, 1 when it is a dead letter, 2 when it was cancelled or dropped, and 75 when \
            --timeout is over, or the store is busy. Where the error then names a message, it is in line and goes on, and \
            `penstock show NUMBER --result` has what it gives; where the queue was full for that long, or the store busy, \
            nothing is in line. A message that has the --key already is waited for instead.
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName

    @Argument(help: "The payload, or - for standard input.")
    var payload: String?

    @Option(
        help: .init("Read the payload, or with --lines the lines, from this file.", valueName: "path"),
        completion: .file())
    var file: String?

    @Flag(help: "Make a message of every line of the input.")
    var lines = false

    @Flag(help: "With --lines: leave out empty lines.")
    var skipEmpty = false

    @OptionGroup(title: "Message") var messageOptions: MessageOptions

    @OptionGroup(title: "Unique key") var keyOptions: UniqueKeyOptions

    @OptionGroup var acceptance: AcceptanceOptions

    @Flag(help: "Wait until the message has ended, and write what it gave.")
    var wait = false

    @Flag(help: "Make the queue, and the file, when there is none.")
    var create = false

    func validate() throws {
        if file != nil && payload != nil { throw ValidationError("A payload and --file exclude each other.") }
        if lines, let payload, payload != "-" {
            throw ValidationError("--lines reads standard input or --file; leave the payload out.")
        }
        if lines && keyOptions.key != nil { throw ValidationError("--key is for one message, so it excludes --lines.") }
        if wait && lines { throw ValidationError("--wait is for one message, so it excludes --lines.") }
        if wait && storeOptions.isJSON {
            throw ValidationError("--wait writes what the message gave, byte for byte, so it excludes --json.")
        }
        if skipEmpty && !lines { throw ValidationError("--skip-empty goes with --lines.") }
    }

    @MainActor func run() async throws {
        // The input is opened, and one payload read, before the file is touched: what is wrong with it undoes nothing.
        if lines {
            try messageOptions.message([]).validate(now: SystemTime().now)
            let input = try InputFile.open(file ?? payload)
            defer { input.close() }
            try await storeOptions.file.use(mayCreate: create, queue: queue, tracing: CommandTracing()) { store in
                try await enqueueLines(of: input, into: try await store.queue(queue.text, create: create))
            }
        } else {
            let message = messageOptions.message(
                try InputFile.payload(payload, orOf: file), key: keyOptions.uniqueKey)
            try message.validate(now: SystemTime().now)
            try await storeOptions.file.use(mayCreate: create, queue: queue, tracing: CommandTracing()) { store in
                // To look the queue up takes a connection more, and the store refuses a message for none all the same.
                let queue =
                    create ? try await store.queue(queue.text, create: true) : store.queueNotLookedUp(queue)
                // Whoever may not look at the queue is told so before anything is in line.
                if wait { _ = try await store.storage.messages(MessageQuery(queue: queue.name, end: .last, limit: 1)) }
                try await enqueue(message, into: queue)
            }
        }
    }

    @MainActor
    private func enqueue(_ message: NewMessage, into queue: Queue<[UInt8]>) async throws {
        let output = Output()
        let began = ContinuousClock.now
        let receipts = try await queue.enqueue(
            [message], durability: acceptance.durability, timeout: acceptance.timeout)
        if wait, let receipt = receipts.first {
            let left = acceptance.timeout.map { $0 - (ContinuousClock.now - began) }
            let result = try await result(of: receipt.sequence, from: queue, timeout: left)
            return try output.answer("Message \(receipt.sequence) is done, but what it gave cannot be shown.") {
                () throws(Failure) in try output.raw(result)
            }
        }
        try output.answer(
            "Message \(receipts.map { "\($0.sequence)" }.joined()) is in line, but its number cannot be shown."
        ) { () throws(Failure) in
            for receipt in receipts {
                if storeOptions.isJSON {
                    try output.line(receipt.json(queue: queue.name))
                } else {
                    try output.line("\(receipt.sequence)")
                    if let notice = Self.notice(of: receipt) { ErrorOutput.say(notice) }
                }
            }
        }
    }

    /// What the message gave. A store that does not answer meanwhile is waited for as well.
    ///
    /// - Throws: what the wait throws; for what is no end of the message `outcomeUnknown`, so that nobody enqueues it again.
    private func result(
        of sequence: SequenceNumber, from queue: Queue<[UInt8]>, timeout: Duration?
    ) async throws -> [UInt8] {
        let end = timeout.map { ContinuousClock.now + $0 }
        var outage = StoreOutage()
        while true {
            let left = end.map { max(.zero, $0 - .now) }
            do {
                let result = try await queue.result(of: sequence, as: [UInt8].self, timeout: left)
                outage.ended()
                return result ?? []
            } catch let error as PenstockError where error.code == .unknownQueue {
                throw PenstockError(
                    .unknownMessage, "Message \(sequence) went with its queue '\(queue.name)', which was deleted.",
                    cause: error)
            } catch let error as PenstockError where !Self.ends.contains(error.code) {
                guard error.isOfStalledStore else {
                    throw PenstockError(
                        .outcomeUnknown,
                        "Message \(sequence) is in line, and nobody waits for it any more: \(error.message)",
                        cause: error)
                }
                // In an outage the look before the wait fails, and the wait's own bound is never come to.
                if left == .zero {
                    throw PenstockError(
                        .timedOut,
                        "Message \(sequence) has not ended within the timeout, and the store does not answer; it goes on, and can be waited "
                            + "for again.", cause: error)
                }
                try await outage.wait(after: error, by: SystemTime(), upTo: left)
            }
        }
    }

    private static let ends: Set<PenstockError.Code> = [
        .messageDead, .messageCancelled, .messageDropped, .unknownMessage, .timedOut,
    ]

    @MainActor
    private func enqueueLines(of input: InputFile, into queue: Queue<[UInt8]>) async throws {
        let batches = LineBatches(
            queue: queue, template: messageOptions.message([]), durability: acceptance.durability,
            timeout: acceptance.timeout)
        let lines = EnqueueLines(
            input: input, skipsEmpty: skipEmpty, place: storeOptions.file.kind, batches: batches)
        let tally = try await lines.run()
        try Output().answer(
            tally.sentence, tally.json(queue: queue.name), isJSON: storeOptions.isJSON, isChange: tally.lines > 0)
    }

    /// What there is to say about a receipt beside its number.
    private static func notice(of receipt: Receipt) -> String? {
        if receipt.skipped { return "Nothing was enqueued: message \(receipt.sequence) has that key." }
        if receipt.state == .dropped { return "The queue is full: message \(receipt.sequence) was dropped, on record." }
        return receipt.displaced.map { "Message \($0) made place for this one." }
    }
}
