import ArgumentParser
import Logging
import Penstock
import PenstockCore
import PenstockFormats
import PenstockMetrics

struct WorkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "work",
        abstract: "Run a command for each message of a queue, or of several.",
        usage: "penstock work <queue>[,<queue> ...] [<options>] -- <command> [<arguments> ...]",
        discussion: """
            EXAMPLES
              penstock work mail -- ./send-mail
              penstock work mail --concurrency 4 --timeout 1m -- ./send-mail --verbose
              penstock work mail --drain -- sh -c 'cat; echo " $PENSTOCK_SEQUENCE"'
              penstock work pages --into links --split-lines -- ./find-links
              penstock work events --lines --concurrency 4 --timeout 10s -- ./enrich
              penstock work urgent,mail,reports --concurrency 4 -- ./deliver
              penstock work mail:3,sms:1 --order weighted --concurrency 4 -- ./deliver

            Each message has a process of its own. It gets the payload as its standard input, and in its environment \
            PENSTOCK_SEQUENCE, PENSTOCK_QUEUE, PENSTOCK_ATTEMPT, PENSTOCK_DB, and PENSTOCK_HEADER_NAME for each header; \
            PENSTOCK_LEASE, by which it can settle in SQL of its own (SELECT penstock_done(SEQUENCE, LEASE)) in a PostgreSQL database; \
            as a task of a workflow also PENSTOCK_WORKFLOW and PENSTOCK_TASK, PENSTOCK_KIND if it has a kind, and PENSTOCK_GROUP if it has a group. \
            The headers traceparent, tracestate and baggage are also in TRACEPARENT, TRACESTATE and BAGGAGE, so that what the command \
            does is in the message's trace; those that the worker itself was started with are not. \
            Its output is passed through, or with --result kept as what the message gave, and the end of its standard error is kept when it fails. No shell is \
            involved unless you name one.

            Several queues, with commas between them, share --concurrency. With --order strict, which is what happens unless it \
            is given, the first queue that has messages is served first; with --order weighted, of the commands that start while all \
            queues have messages, each queue has its share by weight: QUEUE:WEIGHT, or 1. PENSTOCK_QUEUE is the message's own \
            queue. A queue that is paused gives nothing, one that is deleted is looked for every five seconds, and the others \
            go on. In a name write a comma as \\, and a colon before a number at its end as \\:.

            With --kinds the worker works messages of these kinds (`enqueue --kind`). Others wait for a worker that knows them, for a \
            minute at most once there is one; no attempt is counted.

            With --into what a command writes goes on: it becomes one message of that queue, byte by byte, or with \
            --split-lines each line does. That and the end of its own message are one step, so in a chain of such \
            workers nothing is lost or there twice, whatever is killed. The message has the headers and the priority of \
            the one it comes from. A command that writes nothing, or fails, gives none. While the queue is full the worker \
            waits for room with its message in hand.

            With --lines a command stays: as many processes of it as --concurrency says are started once, and each is \
            given one message after the other as a line of its standard input. It answers each with exactly one line of its \
            standard output, without delay (not buffered), and writes nothing else: then the message is done, and the line is what \
            it gave. Of one that may write nothing for a message, --timeout makes an end. \
            A line that begins with the control character NAK (octal 025) says that it failed: "reject TEXT" after it makes a dead letter, \
            "retry-after 30s TEXT" says when it comes back, "hold 30s TEXT" also that nothing of its group starts before (a day at most), and any other text that it is to be tried again as the queue's policy says. \
            With --framed messages and answers have four bytes in front of them that say how many follow, the highest first, \
            and may be any bytes; an answer whose highest bit of these is set says that the message failed. \
            A process that ends, is silent for longer than --timeout or says more than one answer fails the message that it has, and \
            another is started in its place. The environment has no attempt, number, group, kind or headers of a message then.

            Exit status 0 means done; 65 that no attempt can help, which makes a dead letter; 75 and all others that \
            it is to be tried again, as the queue's policy says. With 75 a command can say for how long the other end is to be \
            left alone, by a line on its standard error such as "Retry-After: 30" (seconds, a duration such as 5m, or a date as \
            HTTP has it; a day at most). The last such line counts, if it stands in the last 4,000 bytes that the command writes \
            there: write it at the end. The message is tried again then, and nothing of its group starts before, unless \
            somebody says `penstock group resume`.

            SIGTERM or SIGINT stops the worker: it claims nothing more, and waits up to --grace for what runs; then \
            it stops the commands with SIGTERM and gives their messages back, but for those whose command ends with status 0 then. One \
            that --timeout stops has failed, whatever its status. A second signal kills the commands and gives back \
            at once; one that comes with the first, as of timeout(1), which signals a process and its group, is the first one \
            still. However the worker ends, its commands and what they started end with it, but for processes that \
            leave their process group.
            """)

    @OptionGroup var fileOptions: FileOptions

    @Argument(
        help: .init("The queue, or several with commas between them.", valueName: "queue"),
        completion: QueueCompletion.names, transform: { try QueueList($0) })
    var queues: QueueList

    @Option(help: .init("In which order several queues are served: strict or weighted.", valueName: "order"))
    var order: QueueOrderWord = .strict

    @Option(
        help: .init("Work messages of these kinds, with commas between them; others wait.", valueName: "kinds"),
        transform: Values.kinds)
    var kinds: Set<KindName>?

    @Option(help: .init("How many commands may run at once.", valueName: "count"))
    var concurrency = 1

    @Option(
        help: .init(
            "How long a message stays away should the worker hang; 30s. It is extended while the command runs.",
            valueName: "duration"), transform: Values.duration)
    var lease: Duration = .seconds(30)

    @Option(help: .init("How long a command may run; for ever.", valueName: "duration"), transform: Values.duration)
    var timeout: Duration?

    @Option(
        help: .init("How long to wait for commands that run when the worker is stopped; 30s.", valueName: "duration"),
        transform: Values.duration)
    var grace: Duration = .seconds(30)

    @Option(
        help: .init("How long a command has to end after SIGTERM before it is killed; 5s.", valueName: "duration"),
        transform: Values.duration)
    var stopTime: Duration = .seconds(5)

    @Option(help: .init("End after this many messages.", valueName: "count"))
    var max: Int?

    @Flag(help: "End when nothing is ready. What is scheduled or blocked is not waited for.")
    var drain = false

    @Flag(help: "Keep what the command writes to standard output as its message's result.")
    var result = false

    @Option(
        help: .init(
            "Make what the command writes to standard output a message of this queue.", valueName: "queue"),
        completion: QueueCompletion.names, transform: Values.queue)
    var into: QueueName?

    @Flag(help: "With --into: make each line that the command writes a message.")
    var splitLines = false

    @Flag(
        help: "Start the command once for each place, and give it each message as a line that it answers with a line.")
    var lines = false

    @Flag(help: "As --lines, with frames of any bytes instead of lines.")
    var framed = false

    @Flag(name: .shortAndLong, help: "Say on standard error what is done.")
    var verbose = false

    @Option(
        help: .init(
            "Serve this worker's own numbers to Prometheus, at /metrics: 127.0.0.1:PORT, or unix:PATH.",
            valueName: "address"), transform: { try ListenAddress($0) })
    var metrics: ListenAddress?

    @OptionGroup var logOptions: LogOptions

    @Argument(parsing: .postTerminator, help: "The command and its arguments, after two dashes.")
    var command: [String] = []

    func validate() throws {
        if order == .strict, let weighted = queues.entries.first(where: { $0.weight != nil }) {
            let (name, weight) = (Escape.text(weighted.name.text), weighted.weight ?? 1)
            throw ValidationError(
                "A weight (\(name):\(weight)) goes with --order weighted; where it belongs to the name, write \(name)\\:\(weight)."
            )
        }
        try Bounds.check(concurrency, 1...Self.concurrencyMax, "--concurrency")
        try Bounds.check(max, 1...Int.max, "--max")
        if command.isEmpty {
            throw ValidationError("The command is missing; write it after two dashes: penstock work QUEUE -- COMMAND.")
        }
        guard Limits.leaseRange.contains(lease) else { throw ValidationError("A --lease is 100ms to 7d.") }
        if into != nil, result {
            throw ValidationError("--into and --result both take what the command writes; leave one of them out.")
        }
        if lines, framed {
            throw ValidationError("--lines and --framed are two ways to speak with a command; leave one of them out.")
        }
        if splitLines, lines {
            throw ValidationError("With --lines an answer is one line, so --split-lines has nothing to split.")
        }
        if splitLines, into == nil {
            throw ValidationError("--split-lines goes with --into: it makes each line a message of that queue.")
        }
        if let timeout, timeout <= .zero { throw ValidationError("A --timeout is longer than nothing.") }
    }

    /// Each command takes two processes and some descriptors; more of them than this are no use to one machine.
    private static let concurrencyMax = 1000
    /// The library's worker waits longer than any grace: it would give messages back while their commands still run.
    /// The commands are stopped here, and their messages given back after that.
    private static let workerGrace = Limits.delayMax

    /// Where commands write to when this process was started without standard output (`penstock work … >&-`): they would
    /// fail for what is no fault of their messages.
    private static func nowhere() throws -> FileDescriptor {
        do {
            return try .open("/dev/null", .writeOnly)
        } catch {
            throw Failure(.inputOutput, "/dev/null cannot be opened (\(error)); give `work` a standard output.")
        }
    }

    /// - Throws: ``Failure`` when the queue that it goes to takes nothing.
    private func use(in store: PenstockStore, _ file: StoreFile) async throws -> OutputUse {
        guard let into else { return result ? .result : .passed }
        let queue = try await file.queue(into, in: store)
        // Not by the queue itself, which would record its depths now and never again.
        guard try await !store.storage.status(of: into).queue(into).isDeleting else {
            throw Failure(
                .unavailable,
                "The queue '\(into)' is being deleted, and nothing can go into it; wait until it is gone, and make it anew."
            )
        }
        return .into(queue, splitsLines: splitLines)
    }

    /// The queue, if there is one.
    private var onlyQueue: QueueName? { queues.entries.count == 1 ? queues.entries.first?.name : nil }

    private var workerOrder: QueueOrder {
        switch order {
        case .strict: .strict
        case .weighted: .weighted(queues.entries.map { $0.weight ?? 1 })
        }
    }

    /// Whether its processes work on more than one message.
    private var stays: Bool { lines || framed }

    private func handler(
        of command: Command, output: OutputUse, _ file: StoreFile, _ tracing: CommandTracing?
    ) -> any MessageHandler {
        let inherited = CommandHandler.cleared(file: file)
        guard stays else {
            return CommandHandler(command: command, use: output, inherited: inherited, tracing: tracing)
        }
        let variables = CoprocessHandler.variables(inherited, queue: onlyQueue)
        let coprocess = Coprocess(
            command: command, framing: framed ? .frames : .lines,
            answerBytesMax: output.bytesMax ?? Limits.payloadBytesMax, variables: variables,
            passError: ErrorOutput.raw)
        return CoprocessHandler(Coprocesses(coprocess: coprocess, count: concurrency), output: output)
    }

    @MainActor func run() async throws {
        logOptions.logFormat.use()
        var command = try await Command.find(command)
        command.timeout = timeout
        command.stopTime = stopTime
        if !Descriptor.standardOutput.isForWriting { command.output = try Self.nowhere() }
        command.shortage = { [concurrency] in OpenFiles.shortage(forCommands: concurrency) }
        command.onShortage = { shortage in
            ErrorOutput.say(
                "The command cannot be started now (\(shortage.reason)); it is tried again each second.", .warning)
        }
        try OpenFiles.makeRoom(forCommands: concurrency)
        try Threads.makeRoom(forCommands: concurrency)
        let file = fileOptions.file
        let logger = ErrorLog.logger(verbose ? .debug : .warning)
        let served = try metrics.map { try WorkerMetrics(at: $0) }
        defer { served?.stop() }
        let tracing = CommandTracing()
        try await file.use(queue: onlyQueue, logger: logger, metrics: served?.recorded, tracing: tracing) { store in
            served?.isOpen(store)
            var queues: [Queue<[UInt8]>] = []
            for name in self.queues.names { queues.append(try await file.queue(name, in: store)) }
            let handler = handler(of: command, output: try await use(in: store, file), file, tracing)
            let worker = CommandWorker(
                queues: queues, order: workerOrder,
                // The start of a process takes so long that nothing is gained by claiming ahead of it.
                options: .init(
                    concurrency: concurrency, ahead: stays ? Worker<[UInt8]>.Options().ahead : .zero, lease: lease,
                    grace: Self.workerGrace, max: max,
                    drain: drain, kinds: kinds.map { Set($0.map(\.text)) }),
                grace: grace, handler: handler,
                leasedCount: {
                    try await store.workers().reduce(0) { $1.processID == getpid() ? $0 + $1.leased : $0 }
                },
                place: file.kind, logger: logger)
            try await worker.run()
        }
    }
}
