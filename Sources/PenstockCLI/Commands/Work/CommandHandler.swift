import Penstock
import PenstockCore
import PenstockFormats
import Subprocess

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Works on one message by running a command, and says in the worker's words how that ended.
struct CommandHandler: MessageHandler {
    /// The command's exit status that says that no attempt can help: `EX_DATAERR`.
    static let rejected: Int32 = 65
    /// The one that says that the other end is to be left alone for a while: `EX_TEMPFAIL`.
    static let temporary: Int32 = 75

    private var command: Command
    private let use: OutputUse
    /// What is set, and taken out of the environment, for every message.
    private let inherited: [Environment.Key: String?]
    private let tracing: CommandTracing?

    init(
        command: Command, use: OutputUse, inherited: [Environment.Key: String?],
        tracing: CommandTracing? = nil
    ) {
        self.command = command
        self.command.keptBytesMax = use.bytesMax
        self.use = use
        self.inherited = inherited
        self.tracing = tracing
    }

    /// Runs the command on the delivery's message.
    ///
    /// A command that is stopped, because it takes too long or the worker does not wait for it any more, has ended
    /// when its message is settled: no other worker begins on the message while this one is still at it.
    ///
    /// - Throws: `Reject`, `RetryAfter` or ``AttemptFailed``, by the command's exit status; `Reject` for headers that no environment can hold;
    ///   ``Failure`` when it could not be started, or has nobody to write for.
    func handle(_ delivery: Delivery<[UInt8]>, in guardians: Guardians, stops: StopRequests) async throws {
        do {
            try HeaderRules.validate(delivery.headers)
        } catch {
            // Put there by hand. No attempt can help, and the next message must not wait for this one.
            throw Reject("No command can be given its headers: \(error.message)")
        }
        let (end, cause) = try await stops.withRequest { stop in
            (try await run(delivery, in: guardians, stop), stop.cause)
        }
        try await settle(delivery, end, cause, stops)
    }

    private func settle(
        _ delivery: Delivery<[UInt8]>, _ end: Command.End?, _ cause: StopRequest.Cause?, _ stops: StopRequests
    ) async throws {
        switch cause {
        case .timeout:
            let time = command.timeout.map(DurationText.format) ?? ""
            let said = end.map { "; \($0.text)" } ?? ""
            try await delivery.retry("stopped after \(time)\(said)", outcome: .timedOut)
        case .grace where end?.status != .exited(0):
            try await delivery.release()
        case .output:
            throw use.tooLong
        case .cancelled where !(delivery.isCancelRequested && end?.status == .exited(0)):
            throw CancellationError()
        case .grace, .cancelled, nil:
            guard let end else { return }
            if end.status == .exited(0) {
                guard let output = end.output else { return }
                if output.isTooLong { throw use.tooLong }
                return try await stops.withRequest(isRun: false) { stop in
                    try await use.finish(delivery, output.bytes, until: stop)
                }
            }
            if end.status == .exited(Self.rejected) { throw Reject(end.text) }
            if end.status == .exited(Self.temporary),
                let time = RetryAfterLine.duration(in: end.errorTail, now: SystemTime().now)
            {
                throw RetryAfter(time, reason: end.text, holdsGroup: true)
            }
            if Descriptor.standardOutput.hasNoReader {
                // One message after the other would fail in the same way, through no fault of its own.
                throw Failure(
                    .inputOutput,
                    "Nobody reads the commands' standard output any more, and they cannot write to it; redirect it."
                )
            }
            throw AttemptFailed(description: end.text)
        }
    }

    /// - Returns: how the command ended; `nil` when it was stopped before it began.
    private func run(
        _ delivery: Delivery<[UInt8]>, in guardians: Guardians, _ stop: StopRequest
    ) async throws -> Command.End? {
        do {
            return try await command.run(
                payload: delivery.payload, variables: variables(of: delivery), in: guardians, stop: stop,
                passError: ErrorOutput.raw)
        } catch is CancellationError {
            return nil
        }
    }

    private func variables(of delivery: Delivery<[UInt8]>) -> [Environment.Key: String?] {
        var variables = inherited
        variables["PENSTOCK_SEQUENCE"] = "\(delivery.sequence)"
        variables["PENSTOCK_LEASE"] = "\(delivery.token.rawValue)"
        variables["PENSTOCK_QUEUE"] = delivery.queue.text
        variables["PENSTOCK_ATTEMPT"] = "\(delivery.attempt)"
        if let group = delivery.group { variables["PENSTOCK_GROUP"] = group }
        if let kind = delivery.kind { variables["PENSTOCK_KIND"] = kind }
        if let task = delivery.task {
            variables["PENSTOCK_WORKFLOW"] = task.workflow.text
            variables["PENSTOCK_TASK"] = task.task.text
        }
        for (name, value) in delivery.headers {
            variables[Environment.Key(stringLiteral: HeaderRules.variable(of: name))] = value
            if let variable = Self.traceVariables[name.lowercased()] { variables[variable] = value }
        }
        if let span = tracing?.variables, !span.isEmpty {
            // What the command does is a part of its message's handling, which is a trace of its own.
            variables.updateValue(nil, forKey: "TRACESTATE")
            for (name, value) in span { variables[Environment.Key(stringLiteral: name)] = value }
        }
        return variables
    }

    /// The headers of W3C Trace Context and Baggage, and the variables by which OpenTelemetry hands them to a process.
    private static let traceVariables: [String: Environment.Key] = [
        "traceparent": "TRACEPARENT", "tracestate": "TRACESTATE", "baggage": "BAGGAGE",
    ]

    /// The variables that hold for every message: commands see the worker's file, and no header that the worker's own
    /// environment has, nor a trace, a group, a kind or a task, should it run under another worker.
    static func cleared(file: StoreFile) -> [Environment.Key: String?] {
        let prefix = HeaderRules.variable(of: "")
        var variables: [Environment.Key: String?] = [:]
        for name in ProcessInfo.processInfo.environment.keys where name.hasPrefix(prefix) {
            variables.updateValue(nil, forKey: Environment.Key(stringLiteral: name))
        }
        let own = ["PENSTOCK_GROUP", "PENSTOCK_KIND", "PENSTOCK_WORKFLOW", "PENSTOCK_TASK"] as [Environment.Key]
        for name in own + traceVariables.values { variables.updateValue(nil, forKey: name) }
        variables["PENSTOCK_DB"] = file.absolutePath
        return variables
    }
}
