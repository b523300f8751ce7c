import ArgumentParser
import Penstock
import PenstockCore
import PenstockFormats
import PenstockMetrics

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Say whether a queue, or all of them, are as they should be.",
        discussion: """
            EXAMPLES
              penstock check --all --max-dead 0 --min-workers 1
              penstock check mail --max-ready 500,1000 --max-used 80,95
              penstock check --all --max-age 5m --max-dead 0 --format nagios
              penstock check --all --format prometheus >penstock.prom
              penstock check --server 127.0.0.1:7700

            For monitoring and for scripts. It only reads the file, and takes as long however many messages there are. A bound \
            is one number, beyond which it is critical, or two with a comma between them: for a warning, and for critical. \
            Without bounds it is ok if the file can be read. It is critical when the queues move to another store, or have moved there: \
            then nothing is taken here. A queue that is being deleted, or copied here, is a warning.

            With --format nagios the output is that of a plugin of Nagios, Icinga or Sensu. With prometheus it has what the \
            server's /metrics say of the store, and what was found (penstock_check_status{queue,check}: 0 ok, 1 a warning, 2 critical), for \
            the textfile collector of node_exporter; not what a server measures of itself: its requests, its flushes and its process.

            Exit status 0 ok, 1 a warning, 2 critical, 3 when nothing can be said; that is so for wrong arguments, too.
            """)

    @OptionGroup var fileOptions: FileOptions

    @Argument(help: "The queue.", completion: QueueCompletion.names, transform: Values.queue)
    var queue: QueueName?

    @Option(
        help: .init(
            "Ask the server at this address of the machine whether it can do its work, and look at nothing else: HOST:PORT, http://HOST:PORT or unix:PATH.",
            valueName: "address"), transform: { try ServerProbe.address($0) })
    var server: ListenAddress?

    @Flag(help: "Look at all queues.")
    var all = false

    @Option(help: .init("How it is said: text, nagios, json or prometheus.", valueName: "format"))
    var format: CheckFormat = .text

    @Option(help: .init("How many messages may be ready.", valueName: "bound"), transform: Values.countBound)
    var maxReady: CheckBound?

    @Option(
        help: .init(
            "For how long the oldest ready message may have waited, such as 5m or 1m,10m; from when it was due or came back.",
            valueName: "bound"), transform: Values.secondsBound)
    var maxAge: CheckBound?

    @Option(help: .init("How many dead letters there may be.", valueName: "bound"), transform: Values.countBound)
    var maxDead: CheckBound?

    @Option(
        help: .init("How much of its capacity may be used, in percent; for queues that have one.", valueName: "bound"),
        transform: Values.countBound)
    var maxUsed: CheckBound?

    @Option(
        help: .init("How many workers have to be alive: processes that have claimed messages.", valueName: "bound"),
        transform: Values.countBound)
    var minWorkers: CheckBound?

    func validate() throws {
        if let server {
            guard server.isLocal else { throw ValidationError("\(server) is not of this machine.") }
            guard !all, queue == nil, bounds == CheckBounds() else {
                throw ValidationError("With --server no queue is looked at; check the queues by a command of its own.")
            }
            return
        }
        if all, queue != nil { throw ValidationError("Name a queue or write --all, not both.") }
        for (bound, name) in [
            (maxReady, "--max-ready"), (maxAge, "--max-age"), (maxDead, "--max-dead"), (maxUsed, "--max-used"),
        ] {
            if let bound, let warning = bound.warning, warning > bound.critical {
                throw ValidationError("The first bound of \(name) is for a warning, and not beyond the second.")
            }
        }
        if let bound = minWorkers, let warning = bound.warning, warning < bound.critical {
            throw ValidationError("The first bound of --min-workers is for a warning, and not below the second.")
        }
    }

    @MainActor func run() async throws {
        // Not as arguments are looked at: of an option that there is not the parser speaks after that.
        if server == nil, !all, queue == nil {
            throw Failure(.unknown, "Name a queue, or write --all; `penstock check --help` says more.")
        }
        let output = Output()
        do {
            if let server { return try await say(of: server, on: output) }
            let (status, now, tellsWorkers) = try await fileOptions.file.look(queue: queue) { store in
                let status = try await store.storage.status(of: queue)
                let tellsWorkers = minWorkers == nil ? true : try await Self.tellsWorkers(store, status)
                // Ages are by the clock that the store goes by, which may be a server's.
                return (status, store.time.now, tellsWorkers)
            }
            guard minWorkers == nil || status.knowsWorkers else {
                throw Failure(
                    .unknown,
                    "A standby does not see which workers live; leave out --min-workers, or check that at the primary.")
            }
            guard tellsWorkers else {
                throw Failure(
                    .unknown,
                    "The server tells this token nothing of workers; use one that may read all queues, or leave out --min-workers."
                )
            }
            let report = CheckReport(status, bounds, now: now)
            try say(report, status, on: output)
            try output.flush()
            // What was found is said; the status alone is left.
            if report.state != .ok { throw Failure(report.state.shellStatus, "") }
        } catch {
            guard let failure = Failure(known: error), !failure.message.isEmpty else { throw error }
            guard format == .nagios, failure.status != .inputOutput else {
                throw Failure(.unknown, failure.message)
            }
            try output.line("PENSTOCK UNKNOWN - \(CheckReport.withoutBars(Escape.line(failure.message)))")
            try output.flush()
            throw Failure(.unknown, "")
        }
    }

    /// Whether there are as many workers as the status has. A server tells a token for some queues of none, as workers are of all queues,
    /// and nothing of limits, which are of all queues as well.
    private static func tellsWorkers(_ store: PenstockStore, _ status: StoreStatus) async throws -> Bool {
        guard status.workers.isEmpty else { return true }
        do {
            _ = try await store.storage.limits()
            return true
        } catch let error as PenstockError {
            // A file of an older schema, say, may have no limits.
            return error.code != .forbidden
        }
    }

    private var bounds: CheckBounds {
        CheckBounds(ready: maxReady, age: maxAge, dead: maxDead, used: maxUsed, workers: minWorkers)
    }

    @MainActor private func say(of server: ListenAddress, on output: Output) async throws {
        let (isReady, sentence) = try await ServerProbe(address: server).ask()
        let state = isReady ? CheckState.ok : .critical
        switch format {
        case .text: try output.line("\(isReady ? "ok  " : "fail")  \(sentence).")
        case .nagios: try output.line("PENSTOCK \(state.word.uppercased()) - \(sentence)")
        case .json: try output.line(.object(["status": .string(state.word), "summary": .string(sentence)]))
        case .prometheus:
            throw Failure(.usage, "Prometheus asks the server itself, and knows by `up` whether it answers.")
        }
        try output.flush()
        if !isReady { throw Failure(state.shellStatus, "") }
    }

    @MainActor private func say(_ report: CheckReport, _ status: StoreStatus, on output: Output) throws {
        switch format {
        case .text: for line in report.textLines { try output.line(line) }
        case .nagios: for line in report.nagiosLines { try output.line(line) }
        case .json: try output.line(report.json)
        case .prometheus: try output.raw(report.prometheus(status, file: fileOptions.file.filePath).bytes)
        }
    }
}

extension CheckFormat: ExpressibleByArgument {}
